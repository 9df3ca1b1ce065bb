-- Configuration: small tables without user_id, the same for every user of the database.
-- A number of the documents stands here once, as a row (0002_seed.sql); code only reads it.

CREATE TABLE setting (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    description text NOT NULL
);
COMMENT ON TABLE setting IS 'Settings of the installation, one row each; UPDATE to change.';

CREATE TABLE embedding_model (
    model_id smallint PRIMARY KEY,
    name text UNIQUE,
    dimensions int CHECK (dimensions BETWEEN 1 AND 4000),
    active boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    term_limit int NOT NULL GENERATED ALWAYS AS
        (least(512, greatest(16, (7600 - 2 * coalesce(dimensions, 1536)) / 8))) STORED,
    text_limit int,
    line_length int,
    brief_length int,
    notify boolean,
    consolidate boolean
);
CREATE UNIQUE INDEX embedding_model_active ON embedding_model (active) WHERE active;
COMMENT ON TABLE embedding_model IS
    'Which model made the vectors. One row is active; its name and dimensions are NULL until the '
    'first vector or use_model() names them.';
COMMENT ON COLUMN embedding_model.term_limit IS
    'Computed: as many words of a memory as fit one page beside the vector.';
COMMENT ON COLUMN embedding_model.text_limit IS
    'Kept by trigger, as line_length, brief_length, notify and consolidate: the settings of these '
    'names, so that a write reads one row. Do not write.';

CREATE TABLE kind (
    kind_id smallint PRIMARY KEY CHECK (kind_id BETWEEN 1 AND 62),
    name text NOT NULL UNIQUE,
    aliases text[] NOT NULL DEFAULT '{}',
    layer text NOT NULL
        CHECK (layer IN ('working', 'episodic', 'semantic', 'procedural', 'profile')),
    half_life_days float8 CHECK (half_life_days > 0),
    importance float8 NOT NULL DEFAULT 0.5 CHECK (importance BETWEEN 0 AND 1),
    priority smallint NOT NULL DEFAULT 0,
    lifetime text NOT NULL DEFAULT 'core' CHECK (lifetime IN ('core', 'working', 'temporary')),
    heading text NOT NULL,
    description text NOT NULL
);
COMMENT ON TABLE kind IS
    'What sorts of memory there are. half_life_days NULL means the kind does not decay; importance '
    'is the default of a new memory; heading is the line above its group in a block.';

CREATE TABLE mode (
    name text PRIMARY KEY,
    description text NOT NULL,
    vector_weight float8 NOT NULL DEFAULT 0.5 CHECK (vector_weight >= 0),
    word_weight float8 NOT NULL DEFAULT 0.5 CHECK (word_weight >= 0),
    keyword_weight float8 NOT NULL DEFAULT 0 CHECK (keyword_weight >= 0),
    recency_weight float8 NOT NULL DEFAULT 0 CHECK (recency_weight >= 0),
    importance_weight float8 NOT NULL DEFAULT 0 CHECK (importance_weight >= 0),
    graph_weight float8 NOT NULL DEFAULT 0 CHECK (graph_weight >= 0),
    base_weight float8 NOT NULL DEFAULT 1 CHECK (base_weight >= 0),
    interaction_weight float8 NOT NULL DEFAULT 0 CHECK (interaction_weight >= 0),
    priority_weight float8 NOT NULL DEFAULT 0 CHECK (priority_weight >= 0),
    importance_power float8 NOT NULL DEFAULT 0 CHECK (importance_power BETWEEN 0 AND 4),
    recency_power float8 NOT NULL DEFAULT 0 CHECK (recency_power BETWEEN 0 AND 4),
    recency_from text NOT NULL DEFAULT 'created' CHECK (recency_from IN ('created', 'accessed')),
    recency_rate float8 NOT NULL DEFAULT 0 CHECK (recency_rate >= 0),
    recency_floor float8 NOT NULL DEFAULT 0 CHECK (recency_floor BETWEEN 0 AND 1),
    whole_days boolean NOT NULL DEFAULT false,
    unaccessed_days float8 DEFAULT 365 CHECK (unaccessed_days >= 0),
    kind_decay boolean NOT NULL DEFAULT true,
    minimum_relevance float8 NOT NULL DEFAULT 0 CHECK (minimum_relevance BETWEEN 0 AND 1),
    threshold float8 NOT NULL DEFAULT 0,
    candidate_limit int NOT NULL DEFAULT 40 CHECK (candidate_limit BETWEEN 1 AND 1000),
    line_limit int CHECK (line_limit > 0),
    extra_lines int NOT NULL DEFAULT 0 CHECK (extra_lines >= 0),
    mmr_lambda float8 NOT NULL DEFAULT 0.7 CHECK (mmr_lambda > 0 AND mmr_lambda <= 1),
    mmr_lines int NOT NULL DEFAULT 5 CHECK (mmr_lines >= 0),
    duplicate_at float8 NOT NULL DEFAULT 0.8 CHECK (duplicate_at > 0 AND duplicate_at <= 1),
    event_hours float8 NOT NULL DEFAULT 24 CHECK (event_hours >= 0),
    event_limit int NOT NULL DEFAULT 10 CHECK (event_limit >= 0),
    event_relevance float8 NOT NULL DEFAULT 0.5 CHECK (event_relevance BETWEEN 0 AND 1),
    event_types text[] NOT NULL
        DEFAULT '{task_failed,task_completed,alert,layer2_health,escalation}',
    profile boolean NOT NULL DEFAULT true,
    name_boost float8 NOT NULL DEFAULT 0,
    time_boost float8 NOT NULL DEFAULT 0,
    time_before interval NOT NULL DEFAULT '1 day',
    time_after interval NOT NULL DEFAULT '7 days',
    time_after_day interval NOT NULL DEFAULT '10 days',
    when_boost float8 NOT NULL DEFAULT 0,
    question_penalty float8 NOT NULL DEFAULT 0,
    neighbour_weight float8 NOT NULL DEFAULT 0 CHECK (neighbour_weight BETWEEN 0 AND 1),
    second_neighbour_weight float8 NOT NULL DEFAULT 0
        CHECK (second_neighbour_weight BETWEEN 0 AND 1),
    answer_weight float8 NOT NULL DEFAULT 0 CHECK (answer_weight BETWEEN 0 AND 1),
    session_weight float8 NOT NULL DEFAULT 0 CHECK (session_weight BETWEEN 0 AND 1),
    common_share float8 CHECK (common_share BETWEEN 0 AND 1),
    turns boolean NOT NULL GENERATED ALWAYS AS (
        neighbour_weight > 0 OR second_neighbour_weight > 0 OR answer_weight > 0
        OR session_weight > 0 OR time_boost <> 0) STORED,
    asks_feature text NOT NULL DEFAULT '',
    when_feature text NOT NULL DEFAULT '',
    expansions int NOT NULL DEFAULT 0,
    model_id smallint,
    dimensions int,
    log_recalls boolean NOT NULL DEFAULT true,
    plain_kinds bigint NOT NULL DEFAULT 0,
    kind_weights float8[] NOT NULL DEFAULT '{}',
    kind_rates float8[] NOT NULL DEFAULT '{}',
    kind_priorities float8[] NOT NULL DEFAULT '{}',
    kind_headings text[] NOT NULL DEFAULT '{}',
    heading_costs float8[] NOT NULL DEFAULT '{}',
    fast boolean NOT NULL GENERATED ALWAYS AS (
        keyword_weight = 0 AND recency_weight = 0 AND importance_weight = 0 AND graph_weight = 0
        AND base_weight = 1 AND interaction_weight = 0 AND priority_weight = 0
        AND importance_power = 0 AND recency_power = 0 AND minimum_relevance = 0
        AND extra_lines = 0
        AND (event_limit = 0 OR (neighbour_weight = 0 AND second_neighbour_weight = 0
                                 AND answer_weight = 0 AND session_weight = 0 AND time_boost = 0))
    ) STORED,
    CONSTRAINT vector_or_word_weight_above_0 CHECK (vector_weight + word_weight > 0)
);
COMMENT ON TABLE mode IS
    'How a recall is weighted, one row a mode; a new mode is one row here and, where a weight of a '
    'kind is not 1, rows in mode_weight. relevance = mean of similarity, keyword, recency and '
    'importance by their weights, + graph_weight x graph. score = base_weight x relevance x '
    'importance ^ importance_power x recency ^ recency_power x 0.5 ^ (age / half-life of the kind) '
    'x weight of the kind + interaction_weight x interaction + priority_weight x priority. '
    'memory_explain shows every part.';
COMMENT ON COLUMN mode.vector_weight IS
    'Weight of cosine in relevance (D0 1.5, D1 4.1). A memory without a vector, or a question '
    'without one, leaves it to the words.';
COMMENT ON COLUMN mode.word_weight IS
    'Weight of idf coverage in relevance: which part of the question''s words, by rarity, the '
    'memory contains. It is BM25 with k1 = b = 0 divided by the most a memory can have, so 0 to 1; '
    'other k1 and b were measured as worse (DESIGN 5). The text part of D2 3.3.1. A question '
    'without words leaves it to the vector.';
COMMENT ON COLUMN mode.keyword_weight IS
    'Weight of the keyword match in relevance: exact 1.0, prefix 0.8, synonym 0.7 (D2 3.3.1). A '
    'question without words does without it.';
COMMENT ON COLUMN mode.recency_weight IS
    'Weight of recency in relevance (D1 4.1, D2 3.3.1); see recency_rate.';
COMMENT ON COLUMN mode.importance_weight IS 'Weight of importance in relevance (D1 4.1).';
COMMENT ON COLUMN mode.graph_weight IS
    'Added to relevance for a memory linked to one of the five most similar: this times the '
    'strength of the link times the similarity of that one (D4 5.3, which names no weight).';
COMMENT ON COLUMN mode.base_weight IS
    'Weight of the part of the score that relevance makes (D2 3.3.2: 70 %).';
COMMENT ON COLUMN mode.interaction_weight IS
    'Weight of interaction in the score (D2 3.3.2: 20 %). D2 names its causes, how often and when '
    'last recalled, but no formula; here it is count / (1 + count) x recency of the last recall '
    'by recency_rate and recency_floor: 0 for a memory never recalled, below 1.';
COMMENT ON COLUMN mode.priority_weight IS
    'Weight of the kind''s priority, as a share of the largest priority, in the score (D2 3.3.2: '
    '10 %).';
COMMENT ON COLUMN mode.importance_power IS
    'importance to this power is a factor of the score, 0 to 4; 0: it is none (D3 4.3: 1).';
COMMENT ON COLUMN mode.recency_power IS
    'recency to this power is a factor of the score, 0 to 4; 0: it is none (D3 4.3: 1).';
COMMENT ON COLUMN mode.recency_from IS
    'Whether recency counts days since a memory was created (D2 3.3.1) or since it was last '
    'accessed (D1 4.1, D3 4.3).';
COMMENT ON COLUMN mode.recency_rate IS
    'recency = recency_floor + (1 - recency_floor) x exp(-recency_rate x days): 1/30 in D1 4.1, '
    'ln 2 / 30 in D2 3.3.1, 0.05 in D3 4.3.';
COMMENT ON COLUMN mode.recency_floor IS 'What recency never falls below, 0 to 1 (D2 3.3.1: 0.5).';
COMMENT ON COLUMN mode.whole_days IS
    'Recency counts whole days, as (now - then).days does in D1 4.1, D2 3.3.1 and D3 4.3.';
COMMENT ON COLUMN mode.unaccessed_days IS
    'As how many days since its last access a memory never accessed counts (D1 4.1: 365); NULL: '
    'its age (D3 2.1, where a new memory is accessed when it is made).';
COMMENT ON COLUMN mode.kind_decay IS
    'Whether the half-life of a kind acts (D0 1.2); the other documents know one decay for all.';
COMMENT ON COLUMN mode.minimum_relevance IS
    'A memory with a relevance below this is left out, 0 to 1; 0: none is (D2 3.1.2: 0.6, D4 5.3: '
    '0.7).';
COMMENT ON COLUMN mode.threshold IS 'A candidate with a score at or below this is left out.';
COMMENT ON COLUMN mode.candidate_limit IS
    'How many of the best scored memories go on to selection, at least; more when the budget is '
    'large.';
COMMENT ON COLUMN mode.line_limit IS
    'At most this many lines in the block; NULL: as many as the budget holds.';
COMMENT ON COLUMN mode.extra_lines IS
    'With a line_limit: up to this many further lines of kinds of layer procedural (D3 4.4: top 3 '
    'and procedural memory; how many it does not say).';
COMMENT ON COLUMN mode.mmr_lambda IS
    'MMR: lambda * score - (1 - lambda) * Jaccard to the nearest line already chosen (D0 3.1).';
COMMENT ON COLUMN mode.mmr_lines IS
    'How many lines MMR orders (topK of D0 3.1); the rest follow by score.';
COMMENT ON COLUMN mode.duplicate_at IS
    'A candidate this similar (Jaccard of token sets) to a line above it is left out (D0 1.3).';
COMMENT ON COLUMN mode.event_hours IS
    'Events of this many hours back are candidates (D0 1.5: 24, in debug 72).';
COMMENT ON COLUMN mode.event_limit IS 'The newest so many of them; 0: no events.';
COMMENT ON COLUMN mode.event_relevance IS 'The relevance every event has, 0 to 1 (D0 1.5: 0.5).';
COMMENT ON COLUMN mode.event_types IS 'Events of other types are not recalled.';
COMMENT ON COLUMN mode.profile IS
    'Whether the first goals and the capabilities stand at the head of the block.';
COMMENT ON COLUMN mode.name_boost IS
    'For a memory whose speaker or subject the question names; several names share it. This and '
    'the next three are shares of the word signal: 0.3 counts as much as 30 % of the words.';
COMMENT ON COLUMN mode.time_boost IS
    'For a memory of a time that the question names, widened by time_before and time_after, or '
    'time_after_day where it names a single day: things are told later.';
COMMENT ON COLUMN mode.when_boost IS
    'For a memory that says when, where the question asks when.';
COMMENT ON COLUMN mode.question_penalty IS 'Taken from a memory that is a question itself.';
COMMENT ON COLUMN mode.neighbour_weight IS
    'Share of the scores of the turns before and after that a turn gains; '
    'second_neighbour_weight: of the two beyond.';
COMMENT ON COLUMN mode.answer_weight IS
    'Share of the score of the turn before that a turn gains besides, where that one asks.';
COMMENT ON COLUMN mode.session_weight IS
    'Share of the best score of its session that a turn gains.';
COMMENT ON COLUMN mode.common_share IS
    'Words in more than this share of the user''s memories, and names he knows, are left out of '
    'the text to embed (query_terms); NULL: nothing is left out.';
COMMENT ON COLUMN mode.turns IS
    'Computed: recall reads the memories in the order of their turns.';
COMMENT ON COLUMN mode.model_id IS
    'Kept by trigger, as dimensions and log_recalls: the active embedding model and setting '
    'log_recalls, so that a recall reads one row. Do not write.';
COMMENT ON COLUMN mode.expansions IS
    'Kept by trigger: a number of what table expansion says, by which a recall sees whether '
    'profile.expanding was made of the same. Do not write.';
COMMENT ON COLUMN mode.asks_feature IS
    'Kept by trigger, as when_feature: question_penalty and when_boost as entries of the sparse '
    'vector of a question. Do not write.';
COMMENT ON COLUMN mode.plain_kinds IS
    'Kept by trigger: bit kind_id is set for kinds that weigh 1 and do not decay, whose score is '
    'their relevance. Do not write.';
COMMENT ON COLUMN mode.kind_weights IS
    'Kept by trigger from mode_weight: weight by kind_id. Do not write.';
COMMENT ON COLUMN mode.kind_rates IS
    'Kept by trigger from kind.half_life_days: ln 2 / half-life in seconds by kind_id, 0 without '
    'kind_decay. Do not write.';
COMMENT ON COLUMN mode.kind_priorities IS
    'Kept by trigger from kind.priority: its share of the largest by kind_id. Do not write.';
COMMENT ON COLUMN mode.fast IS
    'The score is relevance of vector and words x decay x weight: recall scores rows where they '
    'lie in the index. Another mode is about three times slower.';

CREATE TABLE mode_weight (
    mode text NOT NULL REFERENCES mode ON UPDATE CASCADE ON DELETE CASCADE,
    kind text NOT NULL REFERENCES kind (name) ON UPDATE CASCADE ON DELETE CASCADE,
    weight float8 NOT NULL CHECK (weight >= 0),
    PRIMARY KEY (mode, kind)
);
COMMENT ON TABLE mode_weight IS
    'Factor on the score of a kind in a mode; a pair without a row weighs 1.';

CREATE TABLE synonym (
    term text NOT NULL CHECK (term = lower(term)),
    synonym text NOT NULL CHECK (synonym = lower(synonym)),
    similarity float8 NOT NULL DEFAULT 0.7 CHECK (similarity BETWEEN 0 AND 1),
    PRIMARY KEY (term, synonym),
    CHECK (term <> synonym)
);
CREATE INDEX synonym_synonym ON synonym (synonym);
COMMENT ON TABLE synonym IS
    'Words, or terms of several words, that count for each other in recall and keyword match, in '
    'both directions (D2 3.2.2). A new pair is one row.';
COMMENT ON COLUMN synonym.similarity IS
    'What the one counts where the other was asked, 0 to 1; 0 switches the pair off. Default 0.7: '
    'the score of a synonym in D2 3.3.1.';

CREATE TABLE redaction_rule (
    name text PRIMARY KEY,
    kind text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,39}$'),
    matches text NOT NULL DEFAULT 'text' CHECK (matches IN ('text', 'name')),
    context text NOT NULL DEFAULT '',
    pattern text NOT NULL,
    any_case boolean NOT NULL DEFAULT false,
    proof text CHECK (proof IN ('card', 'chinese_id', 'us_ssn', 'value', 'mixed')),
    sign text[] CHECK (sign <> '{}'),
    enabled boolean NOT NULL DEFAULT true,
    description text NOT NULL DEFAULT '',
    CONSTRAINT a_name_is_all_of_its_rule CHECK (
        matches = 'text' OR (context = '' AND proof IS NULL AND NOT any_case))
);
COMMENT ON TABLE redaction_rule IS
    'What must never be stored, one regular expression a row: it becomes [redacted:kind]. A rule '
    'of your own is one row, such as INSERT INTO memoir.redaction_rule (name, pattern) VALUES '
    '(''badge'', ''EMP-[0-9]{6}''); try it with memoir.redact(). What is stored already stays.';
COMMENT ON COLUMN redaction_rule.kind IS
    'What stands in its place: [redacted:kind]. Left out: the name.';
COMMENT ON COLUMN redaction_rule.matches IS
    'text: the pattern is the secret. name: the pattern is what a secret is called, in any case; '
    'what is assigned to that name in text (name = x, name: x, "name": "x", name is x1, '
    '--name x), and what stands under it in JSON, is redacted.';
COMMENT ON COLUMN redaction_rule.context IS
    'What must stand right before the secret, and stays; empty: anything may.';
COMMENT ON COLUMN redaction_rule.pattern IS
    'A regular expression of PostgreSQL; groups are written (?:...), and it may not match an empty '
    'text. On long texts looking back more than one character is slow.';
COMMENT ON COLUMN redaction_rule.any_case IS 'Context and pattern match in any case.';
COMMENT ON COLUMN redaction_rule.proof IS
    'What else must hold of the secret. card: the check digit by Luhn. chinese_id: '
    'date and check digit. us_ssn: no number that is never given out. value: no '
    'placeholder, word or expression of a program. mixed: a digit, or capitals inside.';
COMMENT ON COLUMN redaction_rule.sign IS
    'Simple regular expressions that every text with a match has, the cheapest first: only such '
    'texts are searched, and rules with the same sign share the look. They may begin with (?i). '
    'NULL: context and pattern themselves, a look of their own at all that is written or asked.';

CREATE TABLE prompt (
    kind text NOT NULL,
    language text NOT NULL,
    version int NOT NULL,
    template text NOT NULL,
    input text,
    answer_schema jsonb,
    active boolean NOT NULL DEFAULT true,
    PRIMARY KEY (kind, language, version)
);
COMMENT ON TABLE prompt IS
    'What models are told: the prompts of jobs, with the JSON schema of the answer, and the '
    'system_prompt of an agent that has the tools. The highest active version counts.';
COMMENT ON COLUMN prompt.template IS
    'The system message of a job. {{name}} stands for a value of the job; {{caution}} for the '
    'prompt of that kind, which every job that reads what others wrote begins with.';
COMMENT ON COLUMN prompt.input IS
    'The user message of a job: the material, {{name}} by {{name}}, which never is an instruction.';
COMMENT ON COLUMN prompt.answer_schema IS
    'What finish() takes for an answer. Every property is required and no other allowed, as strict '
    'schemas of OpenAI want it.';

CREATE TABLE source (
    name text PRIMARY KEY,
    kind text NOT NULL REFERENCES kind (name),
    relation text NOT NULL,
    mapping jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE source IS 'Tables of the application that are attached as memory.';
