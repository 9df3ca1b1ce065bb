"""What must never be stored: found in text, and nothing else is.

The keys are made up, and put together from parts so that no scanner takes them for real ones.
"""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import redact, working_at_most

HEX = "0123456789abcdef" * 4
MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3"
UPPER = "A1B2C3D4E5F6G7H8I9J0K1L2M3N4P5Q6"
PEM = "-" * 5 + "{} RSA PRIVATE KEY" + "-" * 5
BODY = "MIIEowIBAAKCAQEA7\n" * 3
ENCODED = b64encode(f"{PEM.format('BEGIN')}\n{BODY}".encode()).decode()

API_KEYS = {
    "openai": "sk" + "-" + MIXED,
    "openai project": "sk" + "-proj-" + MIXED,
    "anthropic": "sk" + "-ant-api03-" + MIXED,
    "deepseek": "sk" + "-" + HEX[:32],
    "github": "gh" + "p_" + MIXED[:36],
    "github oauth": "gh" + "o_" + MIXED[:36],
    "github fine-grained": "github" + "_pat_" + MIXED[:22] + "_" + MIXED,
    "gitlab": "gl" + "pat-" + MIXED[:20],
    "aws": "AK" + "IA" + UPPER[:16],
    "aws temporary": "AS" + "IA" + UPPER[:16],
    "google": "AI" + "za" + MIXED[:35],
    "google oauth": "ya" + "29." + MIXED,
    "slack": "xo" + "xb-123456789012-" + MIXED[:24],
    "slack app": "xa" + "pp-1-" + MIXED,
    "stripe": "sk" + "_live_" + MIXED[:24],
    "stripe restricted": "rk" + "_live_" + MIXED[:24],
    "twilio": "S" + "K" + HEX[:32],
    "sendgrid": "S" + "G." + MIXED[:22] + "." + MIXED[:43],
    "mailgun": "ke" + "y-" + HEX[:32],
    "npm": "np" + "m_" + MIXED[:36],
    "pypi": "py" + "pi-" + MIXED,
    "rubygems": "ruby" + "gems_" + HEX[:48],
    "docker": "dc" + "kr_pat_" + MIXED[:27],
    "hugging face": "h" + "f_" + MIXED[:34],
    "replicate": "r" + "8_" + MIXED[:37],
    "groq": "gs" + "k_" + MIXED,
    "xai": "xa" + "i-" + MIXED,
    "perplexity": "pp" + "lx-" + MIXED,
    "digitalocean": "do" + "p_v1_" + HEX,
    "alibaba": "LT" + "AI" + MIXED[:20],
    "tencent": "AK" + "ID" + MIXED[:32],
    "baidu": "bce" + "-v3/ALTAK-" + MIXED,
    "volcengine": "AK" + "LT" + MIXED[:40],
    "zhipu": HEX[:32] + "." + MIXED[:16],
    "azure": MIXED[:3] + "8" + "Q~" + MIXED[:34],
    "databricks": "da" + "pi" + HEX[:32],
    "shopify": "sh" + "pat_" + HEX[:32],
    "square": "sq" + "0atp-" + MIXED[:22],
    "telegram": "123456789:" + "AA" + MIXED[:33],
    "discord": "M" + MIXED[:23] + "." + MIXED[:6] + "." + MIXED[:27],
    "atlassian": "AT" + "ATT3" + MIXED,
    "notion": "nt" + "n_" + MIXED,
    "linear": "lin" + "_api_" + MIXED[:40],
    "figma": "fi" + "gd_" + MIXED[:40],
    "grafana": "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8],
    "new relic": "NR" + "AK-" + UPPER[:27],
    "sentry": "sn" + "trys_" + MIXED,
    "vault": "hv" + "s." + MIXED[:24],
    "terraform": MIXED[:14] + ".atl" + "asv1." + MIXED + MIXED,
    "pulumi": "pu" + "l-" + HEX[:40],
    "planetscale": "ps" + "cale_tkn_" + MIXED[:43],
    "supabase": "sb" + "p_" + HEX[:40],
    "age": "AGE-" + "SECRET-KEY-1" + UPPER + UPPER,
    "tavily": "tv" + "ly-dev-" + MIXED[:32],
    "langsmith": "ls" + "v2_pt_" + HEX[:32] + "_" + HEX[:10],
    "pinecone": "pc" + "sk_" + MIXED[:5] + "_" + MIXED,
    "nvidia": "nv" + "api-" + MIXED,
    "cerebras": "cs" + "k-" + MIXED.lower(),
    "jina": "ji" + "na_" + HEX[:32] + MIXED[:28],
    "together": "tg" + "p_v1_" + MIXED,
    "posthog": "ph" + "x_" + MIXED,
    "postman": "PM" + "AK-" + HEX[:24] + "-" + HEX[:34],
    "tailscale": "ts" + "key-auth-" + MIXED[:12] + "CNTRL-" + MIXED[:32],
    "brevo": "xk" + "eysib-" + HEX + "-" + MIXED[:16],
    "fly": "fm" + "2_" + MIXED,
    "contentful": "CF" + "PAT-" + MIXED[:43],
    "google of 2025": "A" + "Q.Ab8RN6" + MIXED[:42],
    "bedrock": "AB" + "SK" + MIXED + MIXED,
    "bedrock for a day": "bedrock-" + "api-key-" + MIXED,
    "azure service": MIXED + "aB3d" + "JQ" + "QJ99" + UPPER[:28],
    "langfuse": "sk" + "-lf-123e4567-e89b-12d3-a456-426614174000",
    "gitlab runner": "gl" + "rtr-" + MIXED[:20],
    "alibaba for an hour": "ST" + "S." + MIXED[:24],
    "vercel": "vc" + "p_" + MIXED,
    "vercel gateway": "vc" + "k_" + MIXED,
    "netlify": "nf" + "p_" + MIXED[:36],
    "cloudflare": "cf" + "ut_" + MIXED,
    "doppler": "dp" + ".st.dev." + MIXED[:43],
    "airtable": "pa" + "t" + MIXED[:14] + "." + HEX,
    "hubspot": "pa" + "t-na1-123e4567-e89b-12d3-a456-426614174000",
    "heroku": "HR" + "KU-" + MIXED,
    "resend": "r" + "e_" + MIXED[:8] + "_" + MIXED[:24],
    "elevenlabs": "s" + "k_" + HEX[:48],
    "1password": "op" + "s_ey" + "JzaWduSW5BZGRyZXNzIjoi" + MIXED,
    "e2b": "e2" + "b_" + HEX[:40],
    "firecrawl": "f" + "c-" + HEX[:32],
    "mem0": "m" + "0-" + MIXED[:40],
    "gitlab runner of 2022": "GR" + "1348941" + MIXED[:20],
    "google refresh": "1/" + "/0" + MIXED + "-" + MIXED[:20],
    "vercel blob": "ver" + "cel_blob_rw_" + MIXED[:16] + "_" + MIXED[:30],
    "neon": "na" + "pi_" + HEX,
    "render": "rn" + "d_" + MIXED[:28],
    "runpod": "rp" + "a_" + MIXED[:44],
    "fireworks": "f" + "w_" + MIXED[:24],
    "circleci": "CC" + "IPAT_" + MIXED[:22] + "_" + HEX[:40],
    "sourcegraph": "sg" + "p_" + HEX[:16] + "_" + HEX[:40],
    "buildkite": "bk" + "ua_" + HEX[:40],
    "dynatrace": "dt" + "0c01." + UPPER[:24] + "." + UPPER + UPPER,
    "helicone": "sk" + "-helicone-ab12cd3-ef45gh6-ij78kl9-mn01op2",
    "brevo smtp": "xs" + "mtpsib-" + HEX + "-" + MIXED[:16],
    "mailchimp": HEX[:32] + "-" + "us12",
    "dropbox": "s" + "l.u." + MIXED + MIXED,
    "facebook": "EA" + "ACEdEose0cBA" + MIXED + MIXED,
    "salesforce": "00" + "D" + MIXED[:12] + "!" + MIXED + MIXED,
    "easypost": "EZ" + "AK" + MIXED + MIXED[:6],
    "flutterwave": "FLW" + "SECK_TEST-" + HEX[:32] + "-X",
    "shippo": "ship" + "po_live_" + HEX[:40],
    "plaid": "acc" + "ess-production-123e4567-e89b-12d3-a456-426614174000",
    "jfrog": "AK" + "Cp" + MIXED + MIXED[:21],
    "nuget": "oy" + "2" + MIXED.lower()[:43],
    "clojars": "CLO" + "JARS_" + HEX[:60],
    "sonar": "sq" + "u_" + HEX[:40],
    "openshift": "sha" + "256~" + MIXED[:43],
    "prefect": "pn" + "u_" + MIXED[:36],
    "readme": "rd" + "me_" + HEX + HEX[:6],
    "maxmind": MIXED[:6] + "_" + MIXED[:29] + "_m" + "mk",
    "yandex": "AQ" + "VN" + MIXED[:36],
    "clickhouse": "4b" + "1d" + MIXED[:38],
    "cloudflare origin": "v1" + ".0-" + HEX[:24] + "-" + HEX + HEX + HEX[:18],
    "nylas": "ny" + "k_v0_" + MIXED,
    "wandb": "wan" + "db_v1_" + MIXED,
    "llamacloud": "ll" + "x-" + MIXED,
    "voyage": "p" + "a-" + MIXED[:43],
    "apify": "api" + "fy_api_" + MIXED[:36],
    "cursor": "ke" + "y_" + HEX,
    "n8n": "n8" + "n_api_" + MIXED[:40],
    "inngest": "sign" + "key-prod-" + HEX,
    "1password account": "A" + "3-A1B2C3-D4E5F6-G7H8I-9J0K1-L2M3N-4P5Q6",
    "azure devops": MIXED + MIXED[:28] + "AZ" + "DO" + MIXED[:4],
    "azure search": MIXED[:42] + "Az" + "SeA" + MIXED[:5],
    "azure functions": MIXED[:44] + "Az" + "Fu" + MIXED[:5] + "A==",
}
ACCESS_ID = "AK" + "IA" + UPPER[:16]
JWT = "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0In0." + MIXED[:43]

SENTENCES = ["{}", "my key: {}.", "KEY={}\nnext", "我的密钥是{}，记住", '{{"key": "{}"}}', "({})"]
# What stands right before the secret is a letter or digit of an escape.
ESCAPED = [
    r'{{"said": "this one:\n{}\nand\u0022"}}',
    "see ?url=https%3A%2F%2Fx.org%2F%3Fq%3D{}%26b%3D1",
    "see \x1b[1;32m{}\x1b[0m",
    r"see \x1b[32m{}\033[0m",
]

CARDS = [
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111111111111111",
    "5500005555555559",
    "2223003122003222",
    "378282246310005",
    "3782 822463 10005",
    "30569309025904",
    "6011111111111117",
    "6222021234567890128",
    "3530111333300000",
    "6759649826438453128",
    "6011 1111 1111 1117 123",
]

SECRETS = {
    # text: what is left of it
    "**Password:** s3cr3tPw": "**Password:** [redacted:password]",
    "**Password**: s3cr3tPw": "**Password**: [redacted:password]",
    'psk="correct horse 9"': 'psk="[redacted:password]"',
    f"  psk={HEX}": "  psk=[redacted:password]",
    "sqlplus -S scott/T1ger9x@orcl": "sqlplus -S scott/[redacted:password]",
    "jdbc:oracle:thin:scott/T1ger9x@//db:1521/x": "jdbc:oracle:thin:scott/[redacted:password]",
    "mongosh --host h -u bob -p s3cretPw": "mongosh --host h -u bob -p [redacted:password]",
    "sqlcmd -S srv -U sa -P Str0ngPass!": "sqlcmd -S srv -U sa -P [redacted:password]",
    f"bob:$2b$12${MIXED}{MIXED[:5]}": "bob:[redacted:password]",
    f"root:$6$abcdefgh${MIXED}{MIXED[:38]}:19000:0": "root:[redacted:password]:19000:0",
    f"bob:$apr1$abcdefgh${MIXED[:22]}": "bob:[redacted:password]",
    f"$y$j9T${MIXED[:22]}${MIXED[:43]}": "[redacted:password]",
    f"$argon2id$v=19$m=65536,t=3,p=4${MIXED[:22]}${MIXED[:43]}": "[redacted:password]",
    f"pbkdf2_sha256$600000${MIXED[:22]}${MIXED[:43]}=": "[redacted:password]",
    f"SCRAM-SHA-256$4096:{MIXED[:22]}==${MIXED[:43]}=:{MIXED[:43]}=": "[redacted:password]",
    "password = hunter2": "password = [redacted:password]",
    "password=hunter2 user=bob": "password=[redacted:password] user=bob",
    "Password: hunter2": "Password: [redacted:password]",
    "password: swordfish\nuser: bob": "password: [redacted:password]\nuser: bob",
    "the wifi password is hunter2": "the wifi password is [redacted:password]",
    "I changed my password to Hunter2!": "I changed my password to [redacted:password]",
    'password: "correct horse, battery"': 'password: "[redacted:password]"',
    "{'password': 'it\"s me'}": "{'password': '[redacted:password]'}",
    '{"user": "bob", "password": "x y z w"}': '{"user": "bob", "password": "[redacted:password]"}',
    '{\\"password\\": \\"hunter2\\"}': '{\\"password\\": \\"[redacted:password]\\"}',
    'password: str = "hunter2"': 'password: str = "[redacted:password]"',
    "<password>hunter2</password>": "<password>[redacted:password]</password>",
    "export DB_PASSWORD=hunter2": "export DB_PASSWORD=[redacted:password]",
    "PGPASSWORD='hunter2' psql": "PGPASSWORD='[redacted:password]' psql",
    "mysqldump --password hunter2 db": "mysqldump --password [redacted:password] db",
    "mysqldump --password=hunter2 db": "mysqldump --password=[redacted:password] db",
    "run --api-token tok3n99 now": "run --api-token [redacted:token] now",
    "Server=db;User=sa;Password=p;w,d&9;Timeout=5": (
        "Server=db;User=sa;Password=[redacted:password];Timeout=5"
    ),
    "https://x.org/?access_token=abcd1234&page=2": (
        "https://x.org/?access_token=[redacted:token]&page=2"
    ),
    "密码：hunter2，别忘了": "密码：[redacted:password]，别忘了",
    "我的密码是123456。": "我的密码是[redacted:password]。",
    "密码为 abc@123": "密码为 [redacted:password]",
    "密码改成了 abc@123": "密码改成了 [redacted:password]",
    "登录密码abc123": "登录密码[redacted:password]",
    "密碼設為abc@123": "密碼設為[redacted:password]",
    "密码已经改成了 Hunter#2024，别忘了": "密码已经改成了 [redacted:password]，别忘了",
    "密码：“correct horse”，别忘了": "密码：“[redacted:password]”，别忘了",
    "“密码”：「hunter2」": "“密码”：「[redacted:password]」",
    "我的密码是“P@ssword”。": "我的密码是“[redacted:password]”。",
    "密码『hunter2』": "密码『[redacted:password]』",
    "密码：１２３４５６": "密码：[redacted:password]",
    "密码是Ａbc１２": "密码是[redacted:password]",
    "password: ‘it is me’": "password: ‘[redacted:password]’",
    "the password is “hunter2”": "the password is “[redacted:password]”",
    "令牌=abcd1234": "令牌=[redacted:token]",
    "aws_secret_access_key = " + MIXED[:40]: "aws_secret_access_key = [redacted:api_key]",
    "client_secret: " + MIXED[:40]: "client_secret: [redacted:secret]",
    "AccountKey=" + MIXED + "==;Endpoint=x": "AccountKey=[redacted:api_key];Endpoint=x",
    "Authorization: Bearer " + MIXED[:20]: "Authorization: Bearer [redacted:authorization]",
    "Authorization: Basic dXNlcjpwYXNz": "Authorization: Basic [redacted:authorization]",
    "curl -u 7bob:hunter2 https://x.org": "curl -u 7bob:[redacted:password] https://x.org",
    "token=12345678": "token=[redacted:token]",
    "-H 'authorization: abc123def'": "-H 'authorization: [redacted:authorization]'",
    "curl -u bob:hunter2 https://x.org": "curl -u bob:[redacted:password] https://x.org",
    "curl -X PUT -ubob:swordfish x.org": "curl -X PUT -ubob:[redacted:password] x.org",
    "docker login -u bob -p hunter2 x": "docker login -u bob -p [redacted:password] x",
    "redis-cli -h cache -a hunter2 ping": "redis-cli -h cache -a [redacted:password] ping",
    "ansible_ssh_pass: hunter2": "ansible_ssh_pass: [redacted:password]",
    "ENV API_TOKEN hunter22": "ENV API_TOKEN [redacted:secret]",
    "set -x DB_PASSWORD 'hunter22'; setx API_KEY hunter22": (
        "set -x DB_PASSWORD '[redacted:secret]'; setx API_KEY [redacted:secret]"
    ),
    "postgres://bob:hunter2@db:5432/x": "postgres://bob:[redacted:password]@db:5432/x",
    "redis://:p@ss@localhost": "redis://:[redacted:password]@localhost",
    "SMTP_PASS=hunter2 DB_PASS: 'x y z w'": (
        "SMTP_PASS=[redacted:password] DB_PASS: '[redacted:password]'"
    ),
    "jwt " + JWT: "jwt [redacted:token]",
    "my SSN is 536-90-4399": "my SSN is [redacted:id_number]",
    "ssn: 536904399": "ssn: [redacted:id_number]",
    "身份证 11010519491231002X 号": "身份证 [redacted:id_number] 号",
    "身份证 110105 19491231 002X": "身份证 [redacted:id_number]",
    "身份证号：１１０１０５１９４９１２３１００２Ｘ": "身份证号：[redacted:id_number]",
    "卡号４１１１１１１１１１１１１１１１": "卡号[redacted:card]",
    "卡号 ６２２２　０２１２　３４５６　７８９０　１２８": "卡号 [redacted:card]",
    "護照號碼：301234567": "護照號碼：[redacted:id_number]",
    "港澳通行证 C12345678": "港澳通行证 [redacted:id_number]",
    "身分證字號A123456789，住台北": "身分證字號[redacted:id_number]，住台北",
    "香港身份證 A123456(3)": "香港身份證 [redacted:id_number]",
    "マイナンバーは 1234 5678 9018 です": "マイナンバーは [redacted:id_number] です",
    "주민등록번호 900101-1234568": "주민등록번호 [redacted:id_number]",
    "私鑰：5Kb8kLf9zgWQ": "私鑰：[redacted:private_key]",
    "短信验证码 483920，请勿泄露": "短信验证码 [redacted:password]，请勿泄露",
    "パスワードはhunter2です": "パスワードは[redacted:password]です",
    "パスワード：Abc123!!": "パスワード：[redacted:password]",
    "暗証番号は4821です": "暗証番号は[redacted:password]です",
    "トークン：abcdef123456": "トークン：[redacted:token]",
    "비밀번호는 hunter2 입니다": "비밀번호는 [redacted:password] 입니다",
    "비밀번호: hunter2": "비밀번호: [redacted:password]",
    f"{PEM.format('BEGIN')}\n{BODY}{PEM.format('END')} end": "[redacted:private_key] end",
    f"{PEM.format('BEGIN')}\n{BODY}": "[redacted:private_key]",
    # The lines of a text processor
    f"{PEM.format('BEGIN')}\n{BODY}".replace("\n", "\v"): "[redacted:private_key]",
    f"{PEM.format('BEGIN')}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{BODY}": (
        "[redacted:private_key]"
    ),
    f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{BODY}": "[redacted:api_key]",
    f"Private-Lines: 3\n{BODY}Private-MAC: 0a": "[redacted:api_key]\nPrivate-MAC: 0a",
    "machine x.org login bob password hunter2": (
        "machine x.org login bob password [redacted:password]"
    ),
    "machine x.org\n  login bob\n  password hunter2\n": (
        "machine x.org\n  login bob\n  password [redacted:password]\n"
    ),
    'x.org/v1/": {"auth": "Ym9iOmh1bnRlcjJodW50ZXI="}': 'x.org/v1/": {"auth": "[redacted:token]"}',
    "//x.org/:_auth=Ym9iOmh1bnRlcjJodW50ZXI=": "//x.org/:_auth=[redacted:token]",
    f"Authorization: token {HEX[:40]}": "Authorization: token [redacted:token]",
    f"Ocp-Apim-Subscription-Key: {HEX[:32]}": "Ocp-Apim-Subscription-Key: [redacted:api_key]",
    "https://x.webhook.office.com/webhookb2/123e4567-e89b@123e4567/IncomingWebhook/" + HEX[:32]: (
        "https://x.webhook.office.com/webhookb2/[redacted:token]"
    ),
    f"client-key-data: {ENCODED}\nname: x": "client-key-data: [redacted:api_key]\nname: x",
    "https://hooks.slack." + "com/services/T0123/B0123/" + MIXED[:24]: (
        "https://hooks.slack.com/services/[redacted:token]"
    ),
    "https://open.feishu.cn/open-apis/bot/v2/hook/123e4567-e89b-12d3-a456-426614174000": (
        "https://open.feishu.cn/open-apis/bot/v2/hook/[redacted:token]"
    ),
    "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=123e4567-e89b-12d3-a456-426614174000": (
        "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=[redacted:token]"
    ),
    "mysql -u root -phunter2 shop": "mysql -u root -p[redacted:password] shop",
    "mysqldump -h db -P 3306 -p'hunter2' shop": (
        "mysqldump -h db -P 3306 -p'[redacted:password]' shop"
    ),
    "sshpass -p 'hunter2' ssh bob@x": "sshpass -p '[redacted:password]' ssh bob@x",
    "sshpass -phunter2 ssh bob@x.org": "sshpass -p[redacted:password] ssh bob@x.org",
    "db.x.org:5432:shop:bob:hunter2\n*:*:*:ada:tea&milk": (
        "db.x.org:5432:shop:bob:[redacted:password]\n*:*:*:ada:[redacted:password]"
    ),
    f"Cookie: lang=en; sid={HEX[:32]}; csrftoken={MIXED[:32]}; theme=dark": (
        "Cookie: lang=en; sid=[redacted:token]; csrftoken=[redacted:token]; theme=dark"
    ),
    f"set-cookie: PHPSESSID={MIXED[:26]}; path=/; HttpOnly": (
        "set-cookie: PHPSESSID=[redacted:token]; path=/; HttpOnly"
    ),
    f"-H 'Cookie: session={MIXED}'": "-H 'Cookie: session=[redacted:token]'",
    f"Access key ID,Secret access key\n{ACCESS_ID},{MIXED[:40]}\nnext": (
        "Access key ID,Secret access key\n[redacted:api_key]\nnext"
    ),
    f"{ACCESS_ID}:{MIXED[:40]}, {ACCESS_ID} / {MIXED[:40]}": (
        "[redacted:api_key], [redacted:api_key]"
    ),
    f"{ACCESS_ID}/20130524/us-east-1/s3": "[redacted:api_key]/20130524/us-east-1/s3",
    "LT" + f"AI{MIXED[:20]},{MIXED[:30]}": "[redacted:api_key]",
    "AK" + f"ID{MIXED[:32]} {MIXED[:32]}": "[redacted:api_key]",
    f"AWS Secret Access Key [None]: {MIXED[:40]}": (
        "AWS Secret Access Key [None]: [redacted:api_key]"
    ),
    "The password for the NAS is hunter2.": "The password for the NAS is [redacted:password].",
    "password for bob@x.org: hunter2": "password for bob@x.org: [redacted:password]",
    "password (staging): hunter2, ask Bob": "password (staging): [redacted:password], ask Bob",
    "the password was changed to Hunter2!": "the password was changed to [redacted:password]",
    f"SECRET_KEY_BASE={HEX[:40]}": "SECRET_KEY_BASE=[redacted:api_key]",
    f"APP_KEY=base64:{MIXED[:43]}=": "APP_KEY=base64:[redacted:api_key]",
    f"my weather key is {HEX[:32]}.": "my weather key is [redacted:api_key].",
    f"https://x.org/?key={HEX[:32]}&q=Oslo": "https://x.org/?key=[redacted:api_key]&q=Oslo",
    "DB_PASSWORD_PROD=hunter2": "DB_PASSWORD_PROD=[redacted:password]",
    '{"user": "bob", "pass": "hunter2"}': '{"user": "bob", "pass": "[redacted:password]"}',
    "admin, pass: Hunter2!, pw=hunter2": (
        "admin, pass: [redacted:password], pw=[redacted:password]"
    ),
    "ssh bob@x with password Hunter2! please": "ssh bob@x with password [redacted:password] please",
    "Das Passwort ist hunter2": "Das Passwort ist [redacted:password]",
    "le mot de passe est hunter2": "le mot de passe est [redacted:password]",
    "La contraseña es hunter2": "La contraseña es [redacted:password]",
    "CONTRASEÑA: hunter2": "CONTRASEÑA: [redacted:password]",
    "a senha é hunter2": "a senha é [redacted:password]",
    "minhaSenha: hunter2": "minhaSenha: [redacted:password]",
    "Пароль: hunter2": "Пароль: [redacted:password]",
    "ПАРОЛЬ: hunter2": "ПАРОЛЬ: [redacted:password]",
    "https://x.blob.core.windows.net/c?sv=2020&" + "sig=" + MIXED: (
        "https://x.blob.core.windows.net/c?sv=2020&sig=[redacted:token]"
    ),
}

KEPT = [
    "sqlplus / as sysdba; sqlplus @scripts/run_all.sql; sqlplus scott/run.sql",
    "what does $2 mean after ${1//$/}, $1$2 or $6$",
    "**Password:** required, **Token:** string",
    "upskill: two courses, and the TLS-PSK-AES256 suites",
    "aws s3 ls in us-east-1 and eu-us1-0123456789abcdef",
    "see pa-the-quick-brown-fox-jumps-over-it-all-abcd",
    "order 6212345678901208123",
    "password reset flow",
    "a login page with password protection, the machine asks for login and password",
    "Authorization: token required, auth = getProvider(), oauth=github",
    "the token budget is 800",
    "the token budget is 8000 and the password must be long",
    "max_tokens: 4096, tokens = 12345",
    "I forgot my password, can you reset it?",
    "Password: required",
    "password: string",
    "password: <your password>",
    "password=$DB_PASSWORD",
    "password = os.environ['DB_PASSWORD']",
    "password = getpass()",
    "api_key=settings.api_key",
    "JOIN known AS k ON k.token = a.word",
    "api_key=api_key, token=access_token",
    "password=****",
    "password: None",
    "PWD=/home/ada/project",
    "the secret to good tea is patience",
    "the secret is to stay calm",
    "Our secret: never give up!",
    "Resenha: 9/10. Ele desenha: casa2",
    "config key: spring/datasource/hikari/maximumPoolSize10",
    "translation key: InternationalizationConfigurationProvider2",
    "basic understanding of internationalization",
    "Ada has basic JavaScript knowledge; Basic PostgreSQL, basic OAuth2.0, Basic HTML5/CSS3",
    "Bearer AuthenticationScheme",
    "docker run -u 1000:1000 postgres, docker exec --user 1001:1001 db sh",
    "docker run -u node:node web, rsync -u backup:files/ ., git push -u origin:main",
    "ENV TOKEN_LIMIT 409600, ENV KEY_FILE /keys/a1.pem, set -x TOKEN_COUNT 12000, ls -a docs",
    "max_token=4096, the context token is 128000",
    "最大token是4096，上下文 token 为 128000，令牌是32000个",
    "const token = await getToken()",
    "Discord 648123456789012343, order 6481234567890123450",
    "EAN 4006381333924, 4902778914336",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:" + HEX,
    "id 123e4567-e89b-12d3-a456-426614174000",
    "order 1234567890123456",
    "order 4111111111111112",
    "order 2024-0001-0002-0003",
    "call +1 415 555 0132 or 13812345678",
    "2025-06-01T12:00:00.123456Z, 1717243200000000",
    "version 18.4.1, pgvector 0.8.5, build 20240501123456",
    "ISBN 978-3-16-148410-0",
    "000-12-3456, 666-12-3456, 987-65-4321, 536-00-1234",
    "110105194912310021",
    "111111111111111111",
    "sk-learn-0-24-pipeline-example, pypi-package-publishing-guide",
    "task-0123456789abcdef0123, risk-assessment-for-next-quarter",
    "http://localhost:8080/a@b and mailto:ada@x.org",
    "https://x.org/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
    "密码学很有趣，忘记密码怎么办？",
    "密码：请联系管理员",
    "密码是用来保护账户的，密码太短了",
    "密码“太短”，已改为8位以上；密钥（RSA2048）",
    "密码：“无”",
    "这个令牌桶算法的容量是 1000",
    "口令红包 88",
    "验证码 60 秒内有效，错误率 3.5%",
    "パスワードは8文字以上、パスワードの長さは12",
    "비밀번호는 8자 이상",
    "护照有效期到 2030 年，身份证 18 位",
    "身份证校验函数 isIdCard18 在 utils.ts",
    "订单号 202311150001234567，型号 A123456789",
    "订单 ２０２３１１１５０００１２３４５",
    "マイナンバーカードを2023年5月に申請した",
    "user@example.com",
    "a_very_long_snake_case_identifier_of_a_test_function",
    "-" * 5 + "BEGIN CERTIFICATE" + "-" * 5,
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUVvd0lCQUFLQ0FRRUE3",
    "jina_embeddings_v3_base_english_model, disc-0123456789abcdef",
    "first_pass = 12345, tests pass: 4242",
    "[redacted:password] and [redacted:api_key]",
    "mysql -u root -p shop, mysql -P 3306, mkdir -p build/output, docker run -p 8080:8080 web",
    "mysql --protocol=tcp --port 3306 shop",
    "src/main.c:120:5:error:expected, 12:30:45:note:this, a:80:b",
    "00:1a:2b:3c:4d:5e, 2001:1234:db8:abcd:ffff:1234, fe80:12:cd:ef:1234:5678",
    "The cookie: a biscuit; Cookie: lang=en; theme=dark, cookie=settings.session_cookie_name_long",
    "password = [redacted:password]",
    "Settings > API key > Create, if token > limit, Profile > Password > Change",
    "the secret to a good life is 42km a week, the password for bob is changed every 90 days",
    "tests pass: 42/42, pass: 100%, boarding pass: AB1234, bypass=1a2b3c4d, password OAuth2",
    f"CACHE_KEY=user:42:profile, TOKEN_TYPE=bearer, public key: {HEX[:32]}",
    f"idempotency key={HEX[:32]}, the key is {HEX[:24]}",
    "passwords for 3 users: alice1, the password (see the vault): ask Bob",
    "postgres://bob:[redacted:password]@db",
]


@pytest.mark.parametrize("sentence", [*SENTENCES, *ESCAPED])
def test_a_key_of_a_vendor_is_redacted(tx, sentence):
    hidden = sentence.format("[redacted:api_key]")
    left = {name: redact(tx, sentence.format(key)) for name, key in API_KEYS.items()}
    said = {
        name: text.replace("[redacted:secret]", "[redacted:api_key]") for name, text in left.items()
    }
    assert said == dict.fromkeys(API_KEYS, hidden)


def test_what_is_called_a_secret_is_redacted(tx):
    assert {text: redact(tx, text) for text in SECRETS} == SECRETS


def test_what_begins_behind_an_escape_is_redacted_as_at_the_beginning(tx):
    texts = [" ".join(text.split(" ", 3)[place:]) for text in SECRETS for place in range(3)]
    others = tx.execute(
        """SELECT e || t, memoir._redact(e || t) FROM unnest(%s::text[]) AS t,
           unnest(%s::text[]) AS e WHERE memoir._redact(e || t) <> e || memoir._redact(t)""",
        (texts, ["\\n", "%20", "\x1b[0m"]),
    ).fetchall()
    assert others == []


@pytest.mark.parametrize("glue", ["_", "-", "/", "+", "="])
def test_two_keys_in_one_word_are_both_redacted(tx, glue):
    one, other = API_KEYS["openai"], API_KEYS["azure"]
    keys = [one + glue + other, other + glue + one, f"x {one}{glue}{MIXED} y"]
    redacted = [redact(tx, text) for text in keys]
    assert [MIXED[:12] in text for text in redacted] == [False] * 3, redacted


@pytest.mark.parametrize(
    "sentence", ["{}", "card {}, 12/27 123", "卡号{}。", "2024 {} 12/27", *ESCAPED]
)
def test_a_card_number_is_redacted(tx, sentence):
    hidden = sentence.format("[redacted:card]")
    assert {card: redact(tx, sentence.format(card)) for card in CARDS} == dict.fromkeys(
        CARDS, hidden
    )


def test_what_only_looks_like_a_secret_stays(tx):
    assert [redact(tx, text) for text in KEPT] == KEPT


def test_keys_without_an_end_take_time_that_grows_with_the_text(tx):
    with working_at_most(tx, 3):
        assert "[redacted:private_key]" in redact(tx, (PEM.format("BEGIN") + "a: ") * 7000)


def test_names_without_a_value_take_time_that_grows_with_the_text(tx):
    for name in ("pass=", "pw=", "pass:", "password_a=", "password for ", "key="):
        with working_at_most(tx, 3):
            assert redact(tx, name * 20_000) == name * 20_000


def test_a_word_behind_a_key_takes_time_that_grows_with_its_length(tx):
    word = "a" * 30_000
    with working_at_most(tx, 1):
        assert redact(tx, f"{API_KEYS['openai']}!{word}\n[redacted:api_key]{word}").endswith(word)


def test_null_stays_null(tx):
    assert redact(tx, None) is None
    assert redact(tx, "") == ""


PIECES = st.sampled_from(
    [*SECRETS, *KEPT, *API_KEYS.values(), *CARDS, JWT, "[redacted:", "[redacted:card]", "\\", '"']
)
TEXTS = (
    st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=6)
    .flatmap(
        lambda parts: st.sampled_from(["", " ", "\n", ": ", "-", "\\n", "%2C"]).map(
            lambda glue: glue.join(parts)
        )
    )
    .filter(lambda text: "\0" not in text)
)


@given(text=TEXTS)
def test_to_redact_twice_is_to_redact_once(tx, text):
    once = redact(tx, text)
    assert redact(tx, once) == once


@given(text=TEXTS)
def test_a_text_grows_no_more_than_fivefold(tx, text):
    assert len(redact(tx, text)) <= 5 * len(text)


@given(text=TEXTS)
def test_what_was_redacted_before_stays(tx, text):
    marks = [f"[redacted:{kind}]" for kind in ("card", "my_own_1")]
    left = redact(tx, marks[0] + text + marks[1])
    assert left.startswith(marks[0])
    assert left.endswith(marks[1])


@given(text=st.text(st.characters(exclude_categories=["Nd", "Cs"], exclude_characters="\0:=>-@")))
def test_a_text_without_digits_and_signs_stays(tx, text):
    assert redact(tx, text) == text


@given(text=st.text("pasword: 1234=\"'", max_size=30), secret=st.sampled_from([*API_KEYS.values()]))
def test_a_key_is_redacted_whatever_stands_around_it(tx, text, secret):
    assert secret not in redact(tx, f"{text} {secret}, {text}")
