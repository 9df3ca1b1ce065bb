-- What is redacted before anything is stored. Prefixes of keys are those their vendors document.
-- A text is searched for a long word, and if there is one, as in many texts about programs, for the
-- beginnings of keys; only the rules whose beginning it has are tried.

INSERT INTO redaction_rule (name, kind, pattern, sign, description)
SELECT r.name, 'api_key', r.pattern, ARRAY['[A-Za-z0-9_-]{16}', r.sign], r.description
FROM (VALUES
    ('openai',
     '(?<![A-Za-z0-9])sk-(?:[A-Za-z0-9_-]*[A-Za-z0-9]{20}[A-Za-z0-9_-]*|lf-[0-9a-f-]{36}'
     '|helicone-[a-z0-9-]{24,})',
     'sk-',
     'OpenAI, Anthropic (sk-ant-), DeepSeek, OpenRouter, Moonshot, Helicone, Langfuse (sk-lf-) and '
     'others'),
    ('github', 'gh[opsur]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}',
     'gho_|ghp_|ghs_|ghu_|ghr_|github_pat_', 'GitHub'),
    ('gitlab', 'gl(?:pat|dt|rtr?|ft|agent|cbt|oas|ptt|soat|imt|ffct|wt)-[A-Za-z0-9_-]{16,}'
     '(?:\.[A-Za-z0-9_-]+)*|GR1348941[A-Za-z0-9_-]{16,}',
     'glpat-|gldt-|glrt-|glrtr-|glft-|glagent-|glcbt-|gloas-|glptt-|glsoat-|glimt-|glffct-|glwt-'
     '|GR1348941', 'GitLab'),
    ('aws', '(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])'
     '(?:[ \t\r\n"'',;:/|]{1,4}[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=]))?'
     '|(?<![A-Za-z0-9+/])ABSK[A-Za-z0-9+/]{40,}=*|bedrock-api-key-[A-Za-z0-9+/]{16,}=*',
     'AKIA|ASIA|ABIA|ACCA|ABSK|bedrock-api-key-',
     'Amazon Web Services, with the secret key behind an id; Bedrock'),
    ('google', 'AIza[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}'
     '|(?<![A-Za-z0-9])AQ\.A[A-Za-z0-9_-]{40,}|(?<![A-Za-z0-9/])1//0[A-Za-z0-9_-]{40,}',
     'AIza|ya29\.|GOCSPX-|AQ\.A|1//0', 'Google API keys, OAuth tokens and client secret'),
    ('slack', 'xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{16,}',
     'xox|xapp-', 'Slack'),
    ('stripe', '[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{16,}',
     'k_live_|k_test_|whsec_', 'Stripe'),
    ('sendgrid', 'SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}', 'SG\.', 'SendGrid'),
    ('mailgun', '(?<![A-Za-z0-9])key-[0-9a-f]{32}(?![A-Za-z0-9])', 'key-', 'Mailgun'),
    ('npm', 'npm_[A-Za-z0-9]{16,}', 'npm_', 'npm'),
    ('pypi', 'pypi-[A-Za-z0-9_-]*[A-Za-z0-9]{20}[A-Za-z0-9_-]*', 'pypi-', 'PyPI'),
    ('rubygems', 'rubygems_[0-9a-f]{16,}', 'rubygems_', 'RubyGems'),
    ('docker', 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}', 'dckr_', 'Docker Hub'),
    ('hugging_face', '(?<![A-Za-z0-9_])(?:hf|api_org)_[A-Za-z0-9]{16,}', 'hf_|api_org_',
     'Hugging Face'),
    ('replicate', '(?<![A-Za-z0-9_])r8_[A-Za-z0-9]{16,}', 'r8_', 'Replicate'),
    ('groq', '(?<![A-Za-z0-9_])gsk_[A-Za-z0-9]{16,}', 'gsk_', 'Groq'),
    ('xai', '(?<![A-Za-z0-9_])xai-[A-Za-z0-9]{16,}', 'xai-', 'xAI'),
    ('perplexity', '(?<![A-Za-z0-9_])pplx-[A-Za-z0-9]{16,}', 'pplx-', 'Perplexity'),
    ('digitalocean', 'do[opr]_v1_[0-9a-f]{16,}', '_v1_', 'DigitalOcean'),
    ('alibaba', '(?<![A-Za-z0-9])(?:LTAI[A-Za-z0-9]{12,}'
     '(?:[ \t\r\n"'',;:/|]{1,4}[A-Za-z0-9]{30}(?![A-Za-z0-9]))?|STS\.[A-Za-z0-9]{20,})',
     'LTAI|STS\.', 'Alibaba Cloud'),
    ('tencent', '(?<![A-Za-z0-9])AKID[A-Za-z0-9]{13,}'
     '(?:[ \t\r\n"'',;:/|]{1,4}[A-Za-z0-9]{32}(?![A-Za-z0-9]))?', 'AKID', 'Tencent Cloud'),
    ('baidu', 'bce-v3/ALTAK-[A-Za-z0-9/]{16,}', 'ALTAK-', 'Baidu Cloud'),
    ('volcengine', '(?<![A-Za-z0-9])AKLT[A-Za-z0-9]{16,}', 'AKLT', 'Volcengine'),
    ('azure', '(?<![A-Za-z0-9_])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{16,}[A-Za-z0-9_~-]'
     '|(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27,}=*', 'Q~|JQQJ9',
     'Microsoft Entra client secret, keys of Azure; of storage by the name AccountKey'),
    ('databricks', '(?<![A-Za-z0-9])dapi[0-9a-f]{32}', 'dapi', 'Databricks'),
    ('shopify', 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}', 'shpat_|shpca_|shppa_|shpss_', 'Shopify'),
    ('square', 'sq0[a-z]{3}-[A-Za-z0-9_-]{16,}', 'sq0', 'Square'),
    ('telegram', '(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}', ':AA', 'Telegram bot'),
    ('atlassian', 'AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{16,}', 'ATATT3|ATCTT3|ATBB', 'Atlassian'),
    ('notion', '(?<![A-Za-z0-9_])ntn_[A-Za-z0-9]{16,}', 'ntn_', 'Notion'),
    ('linear', 'lin_(?:api|oauth)_[A-Za-z0-9]{16,}', 'lin_api_|lin_oauth_', 'Linear'),
    ('figma', 'figd_[A-Za-z0-9_-]{16,}', 'figd_', 'Figma'),
    ('grafana', 'glsa_[A-Za-z0-9_]{16,}|glc_[A-Za-z0-9+/=]{16,}', 'glsa_|glc_', 'Grafana'),
    ('new_relic', 'NRAK-[A-Z0-9]{16,}', 'NRAK-', 'New Relic'),
    ('sentry', 'sntry[su]_[A-Za-z0-9_=+/-]{16,}', 'sntrys_|sntryu_', 'Sentry'),
    ('hashicorp', 'hv[bsr]\.[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{16,}',
     'hvb\.|hvs\.|hvr\.|\.atlasv1\.', 'HashiCorp Vault and Terraform'),
    ('pulumi', 'pul-[0-9a-f]{16,}', 'pul-', 'Pulumi'),
    ('planetscale', 'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{16,}', 'pscale_', 'PlanetScale'),
    ('supabase', 'sb(?:p_[0-9a-f]{16,}|_secret_[A-Za-z0-9_-]{16,})', 'sbp_|sb_secret_',
     'Supabase'),
    ('age', 'AGE-SECRET-KEY-1[A-Z0-9]{16,}', 'AGE-SECRET-KEY-1', 'age'),
    ('vercel', '(?<![A-Za-z0-9_])vc[aciprk]_[A-Za-z0-9_-]{24,}|vercel_blob_rw_[A-Za-z0-9_]{16,}',
     'vca_|vcc_|vci_|vcp_|vcr_|vck_|vercel_blob_rw_', 'Vercel'),
    ('netlify', '(?<![A-Za-z0-9_])nf[bcopu]_[A-Za-z0-9]{30,}', 'nfb_|nfc_|nfo_|nfp_|nfu_',
     'Netlify'),
    ('cloudflare', '(?<![A-Za-z0-9_])cf(?:k|at|ut)_[A-Za-z0-9]{40,}', 'cfk_|cfat_|cfut_',
     'Cloudflare'),
    ('doppler', '(?<![A-Za-z0-9])dp\.[a-z]{2,5}\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,}', 'dp\.',
     'Doppler'),
    ('hubspot', '(?<![A-Za-z0-9])pat-[a-z]{2}[0-9]-[0-9a-f-]{36}', 'pat-', 'HubSpot'),
    ('heroku', 'HRKU-[A-Za-z0-9_-]{30,}', 'HRKU-', 'Heroku'),
    ('onepassword', 'ops_eyJ[A-Za-z0-9+/=_-]{40,}', 'ops_eyJ', 'Service account of 1Password'),
    ('tavily', 'tvly-[A-Za-z0-9_-]{16,}', 'tvly-', 'Tavily'),
    ('langsmith', 'lsv2_[A-Za-z0-9_-]{16,}', 'lsv2_', 'LangSmith'),
    ('pinecone', 'pcsk_[A-Za-z0-9_-]{16,}', 'pcsk_', 'Pinecone'),
    ('nvidia', 'nvapi-[A-Za-z0-9_-]{16,}', 'nvapi-', 'NVIDIA'),
    ('together', 'tgp_v1_[A-Za-z0-9_-]{16,}', 'tgp_v1_', 'Together'),
    ('tailscale', 'tskey-[A-Za-z0-9_-]{16,}', 'tskey-', 'Tailscale'),
    ('brevo', 'x(?:key|smtp)sib-[A-Za-z0-9_-]{16,}', 'sib-', 'Brevo'),
    ('contentful', 'CFPAT-[A-Za-z0-9_-]{16,}', 'CFPAT-', 'Contentful'),
    ('postman', 'PMAK-[A-Za-z0-9_-]{16,}', 'PMAK-', 'Postman'),
    ('cerebras', 'csk-[A-Za-z0-9+/=]{24,}', 'csk-', 'Cerebras'),
    ('jina', 'jina_[A-Za-z0-9+/=]{24,}', 'jina_', 'Jina'),
    ('posthog', 'phx_[A-Za-z0-9+/=]{24,}', 'phx_', 'PostHog'),
    ('fly', 'fm2_[A-Za-z0-9+/=]{24,}', 'fm2_', 'Fly.io'),
    ('e2b', '(?<![A-Za-z0-9])e2b_[0-9a-f]{40}', 'e2b_', 'E2B'),
    ('firecrawl', '(?<![A-Za-z0-9])fc-[0-9a-f]{32}', 'fc-', 'Firecrawl'),
    ('mem0', '(?<![A-Za-z0-9])m0-[A-Za-z0-9]{40}', 'm0-', 'Mem0'),
    ('neon', '(?<![A-Za-z0-9_])napi_[a-z0-9]{40,}', 'napi_', 'Neon'),
    ('render', '(?<![A-Za-z0-9_])rnd_[A-Za-z0-9]{28,}', 'rnd_', 'Render'),
    ('runpod', '(?<![A-Za-z0-9_])rpa_[A-Za-z0-9]{40,}', 'rpa_', 'RunPod'),
    ('fireworks', '(?<![A-Za-z0-9_])fw_[A-Za-z0-9]{22,}', 'fw_', 'Fireworks'),
    ('circleci', '(?<![A-Za-z0-9_])CCIPAT_[A-Za-z0-9]{16,}_[0-9a-f]{40}', 'CCIPAT_', 'CircleCI'),
    ('sourcegraph', '(?<![A-Za-z0-9_])sgp_(?:[0-9a-z]+_)?[0-9a-f]{40}', 'sgp_', 'Sourcegraph'),
    ('buildkite', '(?<![A-Za-z0-9_])bkua_[0-9a-f]{40}', 'bkua_', 'Buildkite'),
    ('dynatrace', '(?<![A-Za-z0-9_])dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}', 'dt0',
     'Dynatrace'),
    ('private_key_base64',
     'LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUF|BFQyBQUk|BPUEVOU1)[A-Za-z0-9+/]*=*', 'LS0tLS1CRUdJTi',
     'PEM once more in base64, as in the files of Kubernetes'),
    ('private_key_ssh',
     '---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?:[^-]|-{1,3}[^-])*'
     '|Private-Lines: [0-9]+(?:[ \t\r\n]+[A-Za-z0-9+/=]{16,})+',
     '---- BEGIN SSH2|Private-Lines: ', 'Keys as SSH2 and PuTTY write them')
) AS r (name, pattern, sign, description);

-- What a program keeps of a password can be tried out for a weak one.
INSERT INTO redaction_rule (name, kind, pattern, sign, description) VALUES
    ('password_hash', 'password',
     '\$(?:(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}'
     '|[56]\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}'
     '|g?y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]*\$[./A-Za-z0-9]{43}'
     '|argon2(?:id?|d)\$(?:v=[0-9]+\$)?[mtp=,0-9]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{16,})'
     '|pbkdf2_sha[0-9]+\$[0-9]+\$[A-Za-z0-9]+\$[A-Za-z0-9+/]{20,}=*'
     '|SCRAM-SHA-[0-9]+\$[0-9]+:[A-Za-z0-9+/]+=*\$[A-Za-z0-9+/]+=*:[A-Za-z0-9+/]+=*',
     ARRAY['[A-Za-z0-9_-]{16}', '\$(?:[0-9]+[:$]|2[abxy]\$|g?y\$|apr1|argon2)'],
     'Hashed passwords as crypt(3), bcrypt, argon2, Django and PostgreSQL write them');

-- Services that are met less often. They are one rule, because a text is searched for each word of
-- a sign: only one with a long word is searched for these.
INSERT INTO redaction_rule (name, kind, pattern, sign, description) VALUES
    ('services', 'api_key',
     '(?<![A-Za-z0-9_])(?:sl\.(?:u\.)?[A-Za-z0-9_-]{60,}'
     '|EAA[A-Za-z0-9]{80,}|00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}[A-Za-z0-9_]'
     '|EZ[AT]K[A-Za-z0-9]{54}'
     '|FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}|(?:shippo|duffel)_(?:live|test)_[A-Za-z0-9_=-]{40,}'
     '|access-(?:production|development|sandbox)-[0-9a-f-]{36}'
     '|AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,}|oy2[a-z0-9]{43}(?![A-Za-z0-9])'
     '|CLOJARS_[a-z0-9]{60}|sq[pua]_[0-9a-f]{40}|sha256~[A-Za-z0-9_-]{43}|pn[ub]_[A-Za-z0-9]{36}'
     '|tk-us-[A-Za-z0-9_-]{48}|ico-[A-Za-z0-9]{32}|rdme_[a-z0-9]{60,}'
     '|tfp_[A-Za-z0-9_=-]{40,}|AQVN[A-Za-z0-9_-]{34,}'
     '|4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|waka_[0-9a-f-]{36}'
     '|nyk_v0_[A-Za-z0-9]{32,}|wandb_v1_[A-Za-z0-9_]{40,}|llx-[A-Za-z0-9]{40,}'
     '|pa-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])|apify_api_[A-Za-z0-9]{30,}'
     '|bb_live_[A-Za-z0-9_-]{24,}|key_[0-9a-f]{64}|n8n_api_[A-Za-z0-9]{30,}'
     '|tr_(?:dev|stg|prod)_[A-Za-z0-9]{24,}|signkey-(?:prod|test|branch)-[0-9a-f]{32,}'
     '|esecret_[A-Za-z0-9]{24,}|xau_[A-Za-z0-9]{30,}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,6}){5}'
     '|eyJrIjoi[A-Za-z0-9]{40,}=*)',
     ARRAY['[A-Za-z0-9_-]{16}', '[A-Za-z0-9_.-]{32}',
           'sl\.[uAB]|EAA|00D|EZ[AT]K|FLWSECK|shippo_|duffel_|access-[pds]|AKCp|cmVmdGtu'
           '|oy2|CLOJARS_|sq[pua]_|sha256~|pn[ub]_|tk-us-|ico-|rdme_|tfp_|AQVN|4b1d|v1\.0-'
           '|waka_|nyk_v0_|wandb_v1_|llx-|pa-|apify_api_|bb_live_|key_|n8n_api_|tr_[dsp]|signkey-'
           '|esecret_|xau_|A3-|eyJrIjoi'],
     'Dropbox, Facebook, Salesforce, EasyPost, Flutterwave, Shippo, Duffel, Plaid, JFrog, NuGet, '
     'Clojars, SonarQube, OpenShift, Prefect, Scalingo, Infracost, ReadMe, Typeform, Yandex Cloud, '
     'ClickHouse Cloud, Cloudflare of origin, WakaTime, Nylas, Weights & Biases, LlamaCloud, '
     'Voyage AI, Apify, Browserbase, Cursor, n8n, Trigger.dev, Inngest, Anyscale, Xata, account of '
     '1Password, old Grafana'),
    -- Their sign is not at the beginning. In one rule with the others they cost base64 three times
    -- as much.
    ('services_inside', 'api_key',
     '(?<![A-Za-z0-9_])(?:[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])'
     '|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk'
     '|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}'
     '|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==)',
     ARRAY['[A-Za-z0-9_-]{16}', '[A-Za-z0-9_.-]{32}', '-us[1-9]|_mmk|AZDO|AzSe|AzFu'],
     'Mailchimp, MaxMind, Azure DevOps, Search and Functions');

-- These begin like other words, but are long.
INSERT INTO redaction_rule (name, kind, pattern, sign, description)
SELECT r.name, 'api_key', r.pattern, ARRAY['[A-Za-z0-9_-]{16}', '[A-Za-z0-9_.-]{32}'], r.description
FROM (VALUES
    ('twilio', '(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])', 'Twilio'),
    ('zhipu', '(?<![A-Za-z0-9])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])', 'Zhipu'),
    ('discord', '(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{16,}',
     'Discord bot'),
    ('airtable', '(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}', 'Airtable'),
    ('resend', '(?<![A-Za-z0-9_])re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}', 'Resend'),
    ('elevenlabs', '(?<![A-Za-z0-9_])sk_[0-9a-f]{48}', 'ElevenLabs')
) AS r (name, pattern, description);

INSERT INTO redaction_rule (name, kind, context, pattern, sign, description)
SELECT r.name, 'token', r.context, r.pattern, ARRAY['[A-Za-z0-9_-]{16}', r.sign], r.description
FROM (VALUES
    ('jwt', '', 'eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*', 'eyJ',
     'JSON Web Token, signed or encrypted'),
    ('signed_url', '[?&](?:[Ss]ig|SIG|X-Amz-Signature|X-Amz-Security-Token)=',
     '[A-Za-z0-9%+/=_-]{20,}', 'sig=|Sig=|SIG=|X-Amz-S',
     'Signatures of Azure and Amazon in an address'),
    ('authorization_token',
     '[Aa]uthorization["'']?:[ \t]*(?:[Tt]oken|[Bb]ot|[Aa]pi-?[Kk]ey)[ \t]+',
     '[A-Za-z0-9%+/=_-]{20,}', 'uthorization', 'HTTP: Authorization: token ...'),
    ('auth_file', '"auth"[ \t]*:[ \t]*"|(?<![A-Za-z0-9_])_auth[ \t]*=[ \t]*"?',
     '[A-Za-z0-9%+/=_-]{20,}', '"auth"|_auth', '"auth" in a file of Docker, _auth in one of npm'),
    ('cookie', '(?<![A-Za-z0-9_])(?:[Ss]et-)?[Cc]ookie["'']?:[ \t]*["'']?'
     '(?:[^ \t\r\n;=]+=[^ \t\r\n;]*;[ \t]*){0,20}[^ \t\r\n;=]+=',
     '[A-Za-z0-9%+/=_-]{20,}', 'ookie', 'HTTP: Cookie, Set-Cookie'),
    ('web_hook',
     'hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/[0-9]+/'
     '|(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|/cgi-bin/webhook/send\?key='
     '|webhook\.office\.com/webhookb2/|hook\.[a-z0-9]+\.make\.com/',
     '[A-Za-z0-9_/@-]{20,}', 'hook',
     'Addresses of Slack, Discord, Feishu, WeCom, Teams and Make')
) AS r (name, context, pattern, sign, description);

INSERT INTO redaction_rule (name, kind, context, pattern, proof, sign, description)
SELECT r.name, r.kind, r.context, r.pattern, r.proof,
       ARRAY['-----B|://[^ \t\r\n/@]*:[^ \t\r\n/]*@|-u[ =]|--u|[ \t]-[pu]|redis-cli'
             '|ql(?:plus|cmd)|jdbc:o'
             '|[0-9*]:[A-Za-z_*]|[0-9](?:[ -]?[0-9]){8}']
           -- The rule itself takes 200 µs of a text with a telephone number.
           || CASE r.name WHEN 'login' THEN ARRAY[
                  '-u(?:ser)?[ =]?["'']?[\w.@-]*:|mysql|mariadb|sshpass|redis-cli|login|mongo'
                  '|sqlplus|sqlcmd|jdbc:oracle:thin:'
                  '|:(?:[0-9]{2,5}|\*):[A-Za-z_*]'] END,
       r.description
FROM (VALUES
    ('private_key', 'private_key', '',
     '-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-{1,4}[^-])*-----END [A-Z0-9 ]*'
     '-----|\s*(?:[A-Za-z-]+: (?:[^\r\n-]|-{1,4}[^\r\n-])*[\r\n]+)*(?:[A-Za-z0-9+/=]|\s|\\[nr])*)',
     NULL, 'PEM and PGP blocks, also where the end is missing'),
    ('url_password', 'password', '://[^ \t\r\n:/@"''<>]*:', '[^ \t\r\n/"''<>]+(?=@)', NULL,
     'postgres://user:password@host'),
    -- Only a program that fetches pages has a word for a password there, as docker run -u has a
    -- group, and rsync -u and git push -u have a path.
    ('login', 'password',
     '(?<![A-Za-z0-9-])(?:-u|--user)[ =]["'']?[0-9]*[^\W0-9][\w.@-]*:'
     '(?=[^ \t\r\n"''/]*[^a-z \t\r\n"''/_.-])'
     '|(?<![A-Za-z0-9_])(?:(?:curl|wget|https?|xh)'
     '(?:[ \t]+(?!-u|--user)[^ \t\r\n|;&]+){0,12}[ \t]+(?:-u|--user)[ =]?["'']?'
     '[0-9]*[^\W0-9][\w.@-]*:'
     '|(?:(?:mysql|mariadb)[a-z-]*(?:[ \t]+(?!-p)[^ \t\r\n|;&]+){0,8}[ \t]+-p'
     '|sshpass[ \t]+-p[ \t]?|redis-cli(?:[ \t]+(?!-a)[^ \t\r\n|;&]+){0,8}[ \t]+-a[ \t]+'
     '|(?:docker|podman|helm|az)[ \t]+(?:registry[ \t]+)?login(?:[ \t]+(?!-p)[^ \t\r\n|;&]+){0,8}'
     '[ \t]+-p[ \t]+|mongo[a-z]*(?:[ \t]+(?!-p)[^ \t\r\n|;&]+){0,8}[ \t]+-p[ \t]+'
     '|sqlcmd(?:[ \t]+(?!-P)[^ \t\r\n|;&]+){0,8}[ \t]+-P[ \t]*'
     '|sqlplus(?:[ \t]+-[A-Za-z]+)*[ \t]+[A-Za-z][A-Za-z0-9_$#]*/'
     '|jdbc:oracle:thin:[A-Za-z][A-Za-z0-9_$#]*/)["'']?)'
     '|(?<![^ \t\r\n"''\x01])(?![0-9A-Fa-f:]+(?:[ \t\r\n"'',;)]|$))[A-Za-z0-9_.*-]+:'
     '(?:[0-9]{2,5}|\*):[A-Za-z_*][A-Za-z0-9_*-]*:[A-Za-z_*][A-Za-z0-9_.*@-]*:',
     '[^ \t\r\n"'']{4,}', 'value', 'curl -u user:password, not docker run -u 1000:1000; '
     'mysql -p, docker login -p, redis-cli -a, sqlplus user/password; lines of .pgpass'),
    ('card', 'card', '',
     '(?<![0-9A-Za-z_.])(?:'
     '(?:4[0-9]{3}|5[1-5][0-9]{2}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)|35[0-9]{2}'
     '|6[0-9]{3})(?:[0-9]{12}|(?:[ -][0-9]{4}){3})'
     '|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}|3[0689][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{4}'
     '|(?:62|67)[0-9]{15,17}|6[0-9]{3}(?:[ -][0-9]{4}){3}[ -][0-9]{3})(?![0-9A-Za-z_])', 'card',
     'Visa 4, Mastercard 51 to 55 and 2221 to 2720, American Express 34 and 37, Diners Club 30, '
     '36, 38, 39, JCB 35, Discover, UnionPay and Maestro 6; also in groups. Of 17 to 19 digits in '
     'one those of UnionPay (62) and Maestro (67): ids are as long'),
    ('chinese_id', 'id_number', '',
     '(?<![0-9A-Za-z])[1-9][0-9]{5} ?(?:19|20)[0-9]{2}[01][0-9][0-3][0-9] ?[0-9]{3}[0-9Xx]'
     '(?![0-9A-Za-z])',
     'chinese_id', 'Identity card of China (GB 11643)'),
    ('us_ssn', 'id_number', '',
     '(?<![0-9A-Za-z-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9A-Za-z-])', 'us_ssn',
     'Social security number of the United States')
) AS r (name, kind, context, pattern, proof, description);

INSERT INTO redaction_rule (name, kind, matches, pattern, sign, description)
SELECT r.name, r.kind, 'name', r.pattern,
       ARRAY['(?i)key|pass|trase|senha|pw|psk|secret|credential|token|authori|ssn|social s|bearer'
             '|basic',
             '(?i)key|pass(?:[wpc"'':=]|e ?(?:est|:))|_pass|trase|senha|pw[d:=]|psk|secret'
             '|credential|token|authori|ssn|social s|(?:bearer|basic)[ \t]'],
       r.description
FROM (VALUES
    ('name_api_key', 'api_key',
     '(?:api|access|account|auth|shared|encryption|signing|master|subscription|functions)[ _-]?key',
     'api_key, AccountKey, aws_secret_access_key, Ocp-Apim-Subscription-Key'),
    ('name_authorization', 'authorization', 'authorization', 'HTTP header, JSON key'),
    ('name_password', 'password',
     'pass(?:word|wd|phrase|code)|(?:db|mail|root|smtp|user|ssh|become|sudo|ftp)_pass|pwd'
     '|psk',
     'password, DB_PASSWD, SMTP_PASS, ansible_ssh_pass, psk of Wi-Fi'),
    ('name_private_key', 'private_key', 'private[ _-]?key', 'private_key'),
    ('name_secret', 'secret', 'secret(?:[ _-]?key)?|credentials?', 'client_secret, SECRET_KEY'),
    ('name_ssn', 'id_number', '(?<![A-Za-z0-9_])ssn|social security number', 'SSN in other forms'),
    ('name_token', 'token', 'token', 'access_token')
) AS r (name, kind, pattern, description);

-- With a second sign, so that texts without these words pay little for them. Not resenha or
-- desenha; with two characters looked at, [dr]e, a long text takes four times as long.
INSERT INTO redaction_rule (name, kind, matches, pattern, sign, description)
SELECT 'name_password_european', 'password', 'name',
       'passwort|mot de passe|contrase[ñÑn]a|(?<!e)senha',
       o.sign || '(?i)passwort|mot de passe|contrase|senha'::text,
       'Passwort, mot de passe, contraseña, senha'
FROM redaction_rule AS o WHERE o.name = 'name_password';

-- variable: set without a sign between, if the value has a digit.
INSERT INTO redaction_rule (name, kind, context, pattern, proof, sign, description)
SELECT r.name, r.kind, r.context, r.pattern, r.proof,
       o.sign || '(?:[Bb]earer|BEARER|[Bb]asic|ENV|setx|set[ \t]+-[A-Za-z]+)[ \t]'::text,
       r.description
FROM redaction_rule AS o, (VALUES
    ('authorization_header', 'authorization',
     '(?<![A-Za-z0-9_])(?:[Bb]earer|BEARER|[Bb]asic)[ \t]+', '[A-Za-z0-9._~+/-]{8,}=*', 'header',
     'HTTP: Authorization: Bearer ..., Basic ...'),
    ('variable', 'secret',
     '(?<![A-Za-z0-9_])(?:ENV|setx|set[ \t]+-[A-Za-z]+)[ \t]+[A-Z0-9_]*'
     '(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)[ \t]+["'']?',
     '(?=[^ \t\r\n"''0-9]*[0-9])[^ \t\r\n"'']{6,}', 'value',
     'ENV API_KEY ... of a Dockerfile, setx, set -x')
) AS r (name, kind, context, pattern, proof, description)
WHERE o.name = 'name_password';

-- What stands between the name and the value in a sentence or a prompt.
INSERT INTO redaction_rule (name, kind, any_case, context, pattern, proof, sign, description)
SELECT r.name, r.kind, true, r.names
       || '[ \t](?:[([][^][()\r\n]{0,40}[])][ \t]?:[ \t]|(?:(?:for|of|on|to)[ \t]'
       '[a-z0-9_.@''-][a-z0-9_.@'' \t-]{0,40}(?::|[ \t](?:is|was))|(?:is|was)[ \t](?:now|still'
       '|(?:re)?set[ \t]to|changed[ \t]to))[ \t])["''`“]?',
       '[!#-%*+\x2d-:=-Z^_a-|~]*[0-9@#$%^*+~=](?:[!-~]*[!#-%*+\x2d/-9=-Z\\^_a-|~])?', 'value',
       (SELECT o.sign FROM redaction_rule AS o WHERE o.name = 'name_password')
       || '(?i)(?:key|pass(?:word|phrase|code))[ \t](?:[([]|(?:for|of|on|to|is|was)[ \t])'::text,
       r.description
FROM (VALUES
    ('api_key_in_words', 'api_key', '(?:api|access|secret|account)[ _-]?key',
     'The API key for staging is ..., AWS Secret Access Key [None]: ...'),
    ('password_in_words', 'password', 'pass(?:word|phrase|code)',
     'The password for the router is ..., password (staging): ..., password is now ...')
) AS r (name, kind, names, description);

-- A key of whatever, if it looks like one; passwords called by a shorter name, or with nothing
-- between, if they have a letter and a digit, or a digit and another sign.
INSERT INTO redaction_rule (name, kind, any_case, context, pattern, proof, sign, description)
SELECT r.name, r.kind, true, r.context, r.pattern, r.proof,
       coalesce(r.sign, (SELECT o.sign FROM redaction_rule AS o WHERE o.name = 'name_password')),
       r.description
FROM (VALUES
    ('key_of_anything', 'api_key',
     '(?<!(?:public|primary|foreign|partition|sort|row|object|cache|dedup|idempotency)[ _-])key'
     '(?:_[a-z0-9_]{1,20})?["''`”]?(?:[ \t]*[:=]|[ \t](?:is|was)[ \t])[ \t]*["''`“]?'
     '(?:base64:)?',
     -- Neither a path of words nor a name with a number at its end.
     '(?!(?:[a-z]{2,}/){2})(?=[a-z+/]*[0-9]+[a-z+/])[a-z0-9+/]{28,}={0,2}', 'header',
     ARRAY['[A-Za-z0-9_-]{16}', 'key|Key|KEY'], 'MAPS_KEY=, SECRET_KEY_BASE=, the weather key is'),
    ('password_in_short', 'password',
     '(?<![a-z0-9_])(?:pass(?:["''`][ \t]*:|["''`]?[ \t]*=)|pw["''`]?[ \t]*[:=])[ \t]*["''`]?'
     '|pass(?:word|wd)_[a-z0-9_]{1,20}=["'']?',
     '(?=[^ \t\r\n0-9]{0,15}[0-9])(?=[^ \t\r\na-z]{0,15}[a-z])[!#-&(-+\x2d-~]{5,}[a-z0-9!@#$%^&*]',
     'value', NULL, 'pass=..., pw: ..., DB_PASSWORD_PROD=...'),
    ('password_beside', 'password', 'pass(?:(?:word|code|phrase)[ \t]|:[ \t]?)["''`]?',
     '(?=[^ \t\r\n0-9]{0,15}[0-9])(?=[^ \t\r\n!@#$%^&*]{0,15}[!@#$%^&*])'
     '[a-z0-9!@#$%^&*_.-]{5,}[a-z0-9!@#$%^&*]', 'value', NULL, 'with password Sw0rd!fish')
) AS r (name, kind, context, pattern, proof, sign, description);

-- Names in Chinese, Japanese, Korean and Russian, with a sign that is not looked for in ASCII.
INSERT INTO redaction_rule (name, kind, matches, context, pattern, sign, description)
SELECT r.name, r.kind, r.matches, r.context, r.pattern,
       ARRAY[CASE r.matches WHEN 'name' THEN
                 '密|口令|令牌|私[钥鑰]|[验驗][证證][码碼]|パス[ワコ]|暗[証号]|トークン|비밀번호|토큰|개인'
                 '|[Пп]арол|ПАРОЛ'
             ELSE '[护護]照|[行胞份分留][证證]|旅券|マイナンバー|個人番号|免許|여권|주민|면허'
                  '|[０-９][０-９][０-９][０-９]' END],
       r.description
FROM (VALUES
    ('name_password_cjk', 'password', 'name', '',
     '密[码碼]|口令|[验驗][证證][码碼]|パス(?:ワード|コード)|暗証番号|비밀번호'
     '|[Пп]арол[ья]|ПАРОЛ[ЬЯ]',
     '密码, 验证码, パスワード, 비밀번호, пароль'),
    ('name_private_key_cjk', 'private_key', 'name', '', '私[钥鑰]|秘密鍵|개인 ?키', '私钥, 秘密鍵'),
    ('name_secret_cjk', 'secret', 'name', '', '密[钥鑰]|暗号鍵', '密钥'),
    ('name_token_cjk', 'token', 'name', '', '令牌|トークン|토큰', '令牌, トークン'),
    ('identity_document', 'id_number', 'text',
     '(?:[护護]照|通行[证證]|[台臺]胞[证證]|身[分份][证證]|居留[证證]|旅券|マイナンバー|個人番号|免許|여권|주민(?:등록)?'
     '|면허)[^0-9A-Za-z\n]{0,8}',
     '(?:[A-Z]{1,2}[0-9]{6,9}(?:[(（][0-9A][)）])?|[0-9]{6}-?[1-8][0-9]{6}'
     '|[0-9]{2}-[0-9]{2}-[0-9]{6}-[0-9]{2}|[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}|[0-9]{9})'
     '(?![0-9A-Za-z])',
     'Passports, permits and identity cards of Taiwan, Hong Kong, Japan and Korea, called so')
) AS r (name, kind, matches, context, pattern, description);

INSERT INTO redaction_rule (name, kind, pattern, proof, sign, description)
SELECT r.name, r.kind, r.pattern, r.proof,
       (SELECT o.sign FROM redaction_rule AS o WHERE o.name = 'identity_document'), r.description
FROM (VALUES
    ('card_wide', 'card',
     '(?<![０-９])[２-６][０-９]{3}(?:[　－ -]?[０-９]{4}){2,3}[　－ -]?[０-９]{2,4}(?![０-９])', 'card',
     'Numbers of cards in full-width digits'),
    ('chinese_id_wide', 'id_number', '(?<![０-９])[１-９][０-９]{16}[０-９Ｘｘ](?![０-９])',
     'chinese_id', 'Identity card of China in full-width digits')
) AS r (name, kind, pattern, proof, description);

INSERT INTO redaction_rule (name, kind, pattern, enabled, description) VALUES
    ('email', 'email', '[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}', false,
     'E-mail addresses'),
    ('phone', 'phone',
     '(?<![0-9A-Za-z.-])(?:\+[0-9]{1,3}[ .-]?)?(?:1[3-9][0-9]{9}'
     '|1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}|\(?[2-9][0-9]{2}\)?[ .-]?[0-9]{3}[ .-][0-9]{4})'
     '(?![0-9A-Za-z])', false, 'Phone numbers of China and North America');
