-- What is redacted before anything is stored. Prefixes of keys are those their vendors document.
-- The sign of a list is common to all its entries, so that a text is searched once for all of them:
-- for a long word, and if there is one, as in most texts about programs, for beginnings of keys.

INSERT INTO redaction_rule (name, kind, pattern, sign, description)
SELECT r.name, 'api_key', r.pattern, ARRAY[
           '[A-Za-z0-9_-]{16}',
           'sk-|gh[opsur]_|github_pat|gl[a-z]{2,5}-|AKI[AD]|A[SB]IA|ACCA|AKLT|LTA[IK]|AIza|ya29'
           '|GOCSPX|xox|xapp|[rs]k_|whsec|SK[0-9a-f]{4}|SG\.|key-|npm_|pypi|gems_|dckr|hf_|api_org'
           '|r8_|gsk_|xai-|pplx|_v1_|[0-9a-f]{8}\.[0-9A-Za-z]{8}|Q~|dapi|shp[acps]|sq0|:AA'
           '|\.[A-Za-z0-9_-]{6}\.|AT(?:AT|CT|BB)|ntn_|lin_|figd|gls?[ac]_|NRAK|ntry|hv[bsr]\.|atlas'
           '|pul-|pscale|sb(?:p|_s)|AGE-S|eyJ|[Ss]ig|SIG|-Security|hook|tvly|lsv2|pcsk|nvapi|tgp_'
           '|tskey|xkeys|CFPAT|PMAK|csk-|jina_|phx_|fm2_|LS0tLS|AQ\.A|ABSK|-api-key-|JQQJ9|STS\.'
           '|vc[aciprk]_|nf[bcopu]_|cf(?:k|at|ut)_|dp\.[a-z]|pat[A-Za-z0-9]{14}\.|pat-[a-z]|HRKU'
           '|re_[A-Za-z0-9]{8}|ops_e|e2b_|fc-[0-9a-f]{16}|m0-|GR134|1//0|napi_|rnd_|CCIPAT|sgp_|dt0'
           '|bkua|rpa_|fw_[A-Za-z0-9]{8}|_rw_|uthorization|"auth|_auth|ookie|SSH2|Private-L'],
       r.description
FROM (VALUES
    ('openai',
     '(?<![A-Za-z0-9])sk-(?:[A-Za-z0-9_-]*[A-Za-z0-9]{20}[A-Za-z0-9_-]*|lf-[0-9a-f-]{36})',
     'OpenAI, Anthropic (sk-ant-), DeepSeek, OpenRouter, Moonshot, Langfuse (sk-lf-) and others'),
    ('github', 'gh[opsur]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}', 'GitHub'),
    ('gitlab', 'gl(?:pat|dt|rtr?|ft|agent|cbt|oas|ptt|soat|imt|ffct|wt)-[A-Za-z0-9_-]{16,}'
     '(?:\.[A-Za-z0-9_-]+)*|GR1348941[A-Za-z0-9_-]{16,}', 'GitLab'),
    ('aws', '(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])'
     '|(?<![A-Za-z0-9+/])ABSK[A-Za-z0-9+/]{40,}=*|bedrock-api-key-[A-Za-z0-9+/]{16,}=*',
     'Amazon Web Services, Bedrock; its secret key by the name secret'),
    ('google', 'AIza[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}'
     '|(?<![A-Za-z0-9])AQ\.A[A-Za-z0-9_-]{40,}|(?<![A-Za-z0-9/])1//0[A-Za-z0-9_-]{40,}',
     'Google API keys, OAuth tokens and client secret'),
    ('slack', 'xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{16,}', 'Slack'),
    ('stripe', '[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{16,}', 'Stripe'),
    ('twilio', '(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])', 'Twilio'),
    ('sendgrid', 'SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}', 'SendGrid'),
    ('mailgun', '(?<![A-Za-z0-9])key-[0-9a-f]{32}(?![A-Za-z0-9])', 'Mailgun'),
    ('npm', 'npm_[A-Za-z0-9]{16,}', 'npm'),
    ('pypi', 'pypi-[A-Za-z0-9_-]*[A-Za-z0-9]{20}[A-Za-z0-9_-]*', 'PyPI'),
    ('rubygems', 'rubygems_[0-9a-f]{16,}', 'RubyGems'),
    ('docker', 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}', 'Docker Hub'),
    ('hugging_face', '(?<![A-Za-z0-9_])(?:hf|api_org)_[A-Za-z0-9]{16,}', 'Hugging Face'),
    ('replicate', '(?<![A-Za-z0-9_])r8_[A-Za-z0-9]{16,}', 'Replicate'),
    ('groq', '(?<![A-Za-z0-9_])gsk_[A-Za-z0-9]{16,}', 'Groq'),
    ('xai', '(?<![A-Za-z0-9_])xai-[A-Za-z0-9]{16,}', 'xAI'),
    ('perplexity', '(?<![A-Za-z0-9_])pplx-[A-Za-z0-9]{16,}', 'Perplexity'),
    ('digitalocean', 'do[opr]_v1_[0-9a-f]{16,}', 'DigitalOcean'),
    ('alibaba', '(?<![A-Za-z0-9])(?:LTAI[A-Za-z0-9]{12,}|STS\.[A-Za-z0-9]{20,})', 'Alibaba Cloud'),
    ('tencent', '(?<![A-Za-z0-9])AKID[A-Za-z0-9]{13,}', 'Tencent Cloud'),
    ('baidu', 'bce-v3/ALTAK-[A-Za-z0-9/]{16,}', 'Baidu Cloud'),
    ('volcengine', '(?<![A-Za-z0-9])AKLT[A-Za-z0-9]{16,}', 'Volcengine'),
    ('zhipu', '(?<![A-Za-z0-9])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])', 'Zhipu'),
    ('azure', '(?<![A-Za-z0-9_])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{16,}[A-Za-z0-9_~-]'
     '|(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27,}=*',
     'Microsoft Entra client secret, keys of Azure; of storage by the name AccountKey'),
    ('databricks', '(?<![A-Za-z0-9])dapi[0-9a-f]{32}', 'Databricks'),
    ('shopify', 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}', 'Shopify'),
    ('square', 'sq0[a-z]{3}-[A-Za-z0-9_-]{16,}', 'Square'),
    ('telegram', '(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}', 'Telegram bot'),
    ('discord', '(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{16,}',
     'Discord bot'),
    ('atlassian', 'AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{16,}', 'Atlassian'),
    ('notion', '(?<![A-Za-z0-9_])ntn_[A-Za-z0-9]{16,}', 'Notion'),
    ('linear', 'lin_(?:api|oauth)_[A-Za-z0-9]{16,}', 'Linear'),
    ('figma', 'figd_[A-Za-z0-9_-]{16,}', 'Figma'),
    ('grafana', 'glsa_[A-Za-z0-9_]{16,}|glc_[A-Za-z0-9+/=]{16,}', 'Grafana'),
    ('new_relic', 'NRAK-[A-Z0-9]{16,}', 'New Relic'),
    ('sentry', 'sntry[su]_[A-Za-z0-9_=+/-]{16,}', 'Sentry'),
    ('hashicorp', 'hv[bsr]\.[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{16,}',
     'HashiCorp Vault and Terraform'),
    ('pulumi', 'pul-[0-9a-f]{16,}', 'Pulumi'),
    ('planetscale', 'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{16,}', 'PlanetScale'),
    ('supabase', 'sb(?:p_[0-9a-f]{16,}|_secret_[A-Za-z0-9_-]{16,})', 'Supabase'),
    ('age', 'AGE-SECRET-KEY-1[A-Z0-9]{16,}', 'age'),
    ('vercel', '(?<![A-Za-z0-9_])vc[aciprk]_[A-Za-z0-9_-]{24,}|vercel_blob_rw_[A-Za-z0-9_]{16,}',
     'Vercel'),
    ('netlify', '(?<![A-Za-z0-9_])nf[bcopu]_[A-Za-z0-9]{30,}', 'Netlify'),
    ('cloudflare', '(?<![A-Za-z0-9_])cf(?:k|at|ut)_[A-Za-z0-9]{40,}', 'Cloudflare'),
    ('doppler', '(?<![A-Za-z0-9])dp\.[a-z]{2,5}\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,}', 'Doppler'),
    ('airtable', '(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}', 'Airtable'),
    ('hubspot', '(?<![A-Za-z0-9])pat-[a-z]{2}[0-9]-[0-9a-f-]{36}', 'HubSpot'),
    ('heroku', 'HRKU-[A-Za-z0-9_-]{30,}', 'Heroku'),
    ('resend', '(?<![A-Za-z0-9_])re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}', 'Resend'),
    ('elevenlabs', '(?<![A-Za-z0-9_])sk_[0-9a-f]{48}', 'ElevenLabs'),
    ('onepassword', 'ops_eyJ[A-Za-z0-9+/=_-]{40,}', 'Service account of 1Password'),
    ('services',
     '(?:tvly-|lsv2_|pcsk_|nvapi-|tgp_v1_|tskey-|xkeysib-|CFPAT-|PMAK-)[A-Za-z0-9_-]{16,}'
     '|(?:csk-|jina_|phx_|fm2_)[A-Za-z0-9+/=]{24,}'
     '|(?<![A-Za-z0-9])(?:e2b_[0-9a-f]{40}|fc-[0-9a-f]{32}|m0-[A-Za-z0-9]{40})'
     '|(?<![A-Za-z0-9_])(?:napi_[a-z0-9]{40,}|rnd_[A-Za-z0-9]{28,}|rpa_[A-Za-z0-9]{40,}'
     '|fw_[A-Za-z0-9]{22,}|CCIPAT_[A-Za-z0-9]{16,}_[0-9a-f]{40}|sgp_(?:[0-9a-z]+_)?[0-9a-f]{40}'
     '|bkua_[0-9a-f]{40}|dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64})',
     'Tavily, LangSmith, Pinecone, NVIDIA, Together, Tailscale, Brevo, Contentful, Postman; '
     'Cerebras, Jina, PostHog, Fly.io; E2B, Firecrawl, Mem0; Neon, Render, RunPod, Fireworks, '
     'CircleCI, Sourcegraph, Buildkite, Dynatrace'),
    ('private_key_base64',
     'LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUF|BFQyBQUk|BPUEVOU1)[A-Za-z0-9+/]*=*',
     'PEM once more in base64, as in the files of Kubernetes'),
    ('private_key_ssh',
     '---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?:[^-]|-{1,3}[^-])*'
     '|Private-Lines: [0-9]+(?:\s+[A-Za-z0-9+/=]{16,})+', 'Keys as SSH2 and PuTTY write them')
) AS r (name, pattern, description);

INSERT INTO redaction_rule (name, kind, context, pattern, sign, description)
SELECT r.name, 'token', r.context, r.pattern,
       (SELECT o.sign FROM redaction_rule AS o WHERE o.name = 'openai'), r.description
FROM (VALUES
    ('jwt', '', 'eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*',
     'JSON Web Token, signed or encrypted'),
    ('signed_url', '[?&](?:[Ss]ig|SIG|X-Amz-Signature|X-Amz-Security-Token)='
     '|[Aa]uthorization["'']?:[ \t]*(?:[Tt]oken|[Bb]ot|[Aa]pi-?[Kk]ey)[ \t]+'
     '|"auth"[ \t]*:[ \t]*"|\m_auth[ \t]*=[ \t]*"?'
     '|\m(?:[Ss]et-)?[Cc]ookie["'']?:[ \t]*["'']?(?:[^\s;=]+=[^\s;]*;[ \t]*){0,20}[^\s;=]+=',
     '[A-Za-z0-9%+/=_-]{20,}', 'Signatures of Azure and Amazon in an address; '
     'Authorization: token ...; "auth" in a file of Docker, _auth in one of npm; cookies'),
    ('web_hook',
     'hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/[0-9]+/'
     '|(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|/cgi-bin/webhook/send\?key='
     '|webhook\.office\.com/webhookb2/',
     '[A-Za-z0-9_/@-]{20,}', 'Addresses of Slack, Discord, Feishu, WeCom and Teams')
) AS r (name, context, pattern, description);

INSERT INTO redaction_rule (name, kind, context, pattern, proof, sign, description)
SELECT r.name, r.kind, r.context, r.pattern, r.proof,
       ARRAY['-----BEGIN|://[^\s/@]*:[^\s/]*@|-u[ =]|-user[ =]|[ \t]-p[^\s]|sshp'
             '|[0-9*]:[A-Za-z_*]|(?:[Bb]earer|BEARER|[Bb]asic)[ \t]'
             '|[0-9](?:[ -]?[0-9]){8}'], r.description
FROM (VALUES
    ('private_key', 'private_key', '',
     '-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-{1,4}[^-])*-----END [A-Z0-9 ]*'
     '-----|\s*(?:[A-Za-z-]+: (?:[^\r\n-]|-{1,4}[^\r\n-])*[\r\n]+)*(?:[A-Za-z0-9+/=]|\s|\\[nr])*)',
     NULL, 'PEM and PGP blocks, also where the end is missing'),
    ('url_password', 'password', '://[^\s:/@"''<>]*:', '[^\s/"''<>]+(?=@)', NULL,
     'postgres://user:password@host'),
    ('login', 'password', '(?<![A-Za-z0-9-])(?:-u|--user)[ =]["'']?[0-9]*[^\W0-9][\w.@-]*:'
     '|\m(?:(?:mysql|mariadb)[a-z-]*(?:[ \t]+(?!-p)[^\s|;&]+){0,8}[ \t]+-p'
     '|sshpass[ \t]+-p[ \t]?)["'']?'
     '|(?<![^\s"''])(?![0-9A-Fa-f:]+(?:[\s"'',;)]|$))[\w.*-]+:(?:[0-9]{2,5}|\*):'
     '[A-Za-z_*][\w*-]*:[A-Za-z_*][\w.*@-]*:',
     '[^\s"'']{4,}', 'value', 'curl -u user:password, not docker run -u 1000:1000; mysql -p; lines '
     'of .pgpass'),
    ('authorization_header', 'authorization', '\m(?:[Bb]earer|BEARER|[Bb]asic)[ \t]+',
     '[A-Za-z0-9._~+/-]{8,}=*', 'header', 'HTTP: Authorization: Bearer ..., Basic ...'),
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
       ARRAY['(?i)key|pass[wpc]|_pass|pwd|secret|credential|token|authori|ssn|social s'],
       r.description
FROM (VALUES
    ('name_api_key', 'api_key',
     '(?:api|access|account|auth|shared|encryption|signing|master|subscription|functions)[ _-]?key',
     'api_key, AccountKey, aws_secret_access_key, Ocp-Apim-Subscription-Key'),
    ('name_authorization', 'authorization', 'authorization', 'HTTP header, JSON key'),
    ('name_password', 'password',
     'pass(?:word|wd|phrase|code)|(?:db|mail|root|smtp|user)_pass|pwd',
     'password, DB_PASSWD, SMTP_PASS'),
    ('name_private_key', 'private_key', 'private[ _-]?key', 'private_key'),
    ('name_secret', 'secret', 'secret(?:[ _-]?key)?|credentials?', 'client_secret, SECRET_KEY'),
    ('name_ssn', 'id_number', '\mssn|social security number', 'SSN in other forms'),
    ('name_token', 'token', 'token', 'access_token')
) AS r (name, kind, pattern, description);

-- The same in Chinese, Japanese and Korean, with a sign that is not looked for in ASCII text.
INSERT INTO redaction_rule (name, kind, matches, context, pattern, sign, description)
SELECT r.name, r.kind, r.matches, r.context, r.pattern,
       ARRAY[CASE r.matches WHEN 'name' THEN
                 '密|口令|令牌|私[钥鑰]|[验驗][证證][码碼]|パス[ワコ]|暗[証号]|トークン|비밀번호|토큰|개인'
             ELSE '[护護]照|[行胞份分留][证證]|旅券|マイナンバー|個人番号|免許|여권|주민|면허'
                  '|[０-９][０-９][０-９][０-９]' END],
       r.description
FROM (VALUES
    ('name_password_cjk', 'password', 'name', '',
     '密[码碼]|口令|[验驗][证證][码碼]|パス(?:ワード|コード)|暗証番号|비밀번호',
     '密码, 验证码, パスワード, 비밀번호'),
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
