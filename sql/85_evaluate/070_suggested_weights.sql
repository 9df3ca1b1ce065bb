-- suggest_weights() for every user with feedback, for dashboards and for those who look after
-- several users. The function does the arithmetic; other arguments than its defaults need a call.
CREATE OR REPLACE VIEW suggested_weights WITH (security_invoker = true) AS
SELECT u.user_id, s.*
FROM (SELECT DISTINCT l.user_id
      FROM _all_recalls AS l WHERE jsonb_typeof(l.payload -> 'used') = 'array') AS u,
     LATERAL suggest_weights(user_id => u.user_id) AS s;
COMMENT ON VIEW suggested_weights IS
    'Mode weights suggested by the feedback of each user: suggest_weights() with its defaults. '
    'Source: D0 3.3.';
