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
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX embedding_model_active ON embedding_model (active) WHERE active;
COMMENT ON TABLE embedding_model IS
    'Which model made the vectors. One row is active; its name and dimensions are NULL until the '
    'first vector or use_model() names them.';

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
    threshold float8 NOT NULL DEFAULT 0,
    candidate_limit int NOT NULL DEFAULT 40 CHECK (candidate_limit BETWEEN 1 AND 1000),
    line_limit int CHECK (line_limit > 0),
    mmr_lambda float8 NOT NULL DEFAULT 0.7 CHECK (mmr_lambda > 0 AND mmr_lambda <= 1),
    mmr_lines int NOT NULL DEFAULT 5 CHECK (mmr_lines >= 0),
    duplicate_at float8 NOT NULL DEFAULT 0.8 CHECK (duplicate_at > 0 AND duplicate_at <= 1),
    event_hours float8 NOT NULL DEFAULT 24 CHECK (event_hours >= 0),
    event_limit int NOT NULL DEFAULT 10 CHECK (event_limit >= 0),
    event_relevance float8 NOT NULL DEFAULT 0.5 CHECK (event_relevance BETWEEN 0 AND 1),
    event_types text[] NOT NULL
        DEFAULT '{task_failed,task_completed,alert,layer2_health,escalation}',
    profile boolean NOT NULL DEFAULT true,
    model_id smallint,
    dimensions int,
    log_recalls boolean NOT NULL DEFAULT true,
    plain_kinds bigint NOT NULL DEFAULT 0,
    kind_weights float8[] NOT NULL DEFAULT '{}',
    kind_rates float8[] NOT NULL DEFAULT '{}',
    kind_headings text[] NOT NULL DEFAULT '{}',
    heading_costs float8[] NOT NULL DEFAULT '{}',
    CHECK (vector_weight + word_weight > 0)
);
COMMENT ON TABLE mode IS
    'How a recall is weighted, one row a mode. A new mode is one row here and, where a weight is '
    'not 1, rows in mode_weight.';
COMMENT ON COLUMN mode.vector_weight IS
    'Share of cosine in relevance; relevance is the weighted mean of the signals a memory has.';
COMMENT ON COLUMN mode.word_weight IS
    'Share of idf coverage (which part of the question''s words, by rarity, the memory contains).';
COMMENT ON COLUMN mode.threshold IS 'A candidate with a score at or below this is left out.';
COMMENT ON COLUMN mode.candidate_limit IS
    'How many of the best scored memories go on to selection, at least; more when the budget is '
    'large.';
COMMENT ON COLUMN mode.line_limit IS
    'At most this many lines in the block; NULL: as many as the budget holds.';
COMMENT ON COLUMN mode.mmr_lambda IS
    'MMR: lambda * score - (1 - lambda) * Jaccard to the nearest line already chosen (D0 3.1).';
COMMENT ON COLUMN mode.mmr_lines IS
    'How many lines MMR orders (topK of D0 3.1); the rest follow by score.';
COMMENT ON COLUMN mode.duplicate_at IS
    'A candidate this similar (Jaccard of token sets) to a line above it is left out (D0 1.3).';
COMMENT ON COLUMN mode.model_id IS
    'Kept by trigger, as dimensions and log_recalls: the active embedding model and setting '
    'log_recalls, so that a recall reads one row. Do not write.';
COMMENT ON COLUMN mode.plain_kinds IS
    'Kept by trigger: bit kind_id is set for kinds that weigh 1 and do not decay, whose score is '
    'their relevance. Do not write.';
COMMENT ON COLUMN mode.kind_weights IS
    'Kept by trigger from mode_weight: weight by kind_id. Do not write.';
COMMENT ON COLUMN mode.kind_rates IS
    'Kept by trigger from kind.half_life_days: ln 2 / half-life in seconds by kind_id. Do not '
    'write.';

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
    pattern text NOT NULL,
    replacement text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    description text NOT NULL
);
COMMENT ON TABLE redaction_rule IS 'Regular expressions for what must never be stored.';

CREATE TABLE prompt (
    kind text NOT NULL,
    language text NOT NULL,
    version int NOT NULL,
    template text NOT NULL,
    answer_schema jsonb,
    active boolean NOT NULL DEFAULT true,
    PRIMARY KEY (kind, language, version)
);
COMMENT ON TABLE prompt IS
    'Prompts for the jobs that ask a model, with the JSON schema of the answer.';

CREATE TABLE source (
    name text PRIMARY KEY,
    kind text NOT NULL REFERENCES kind (name),
    relation text NOT NULL,
    mapping jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE source IS 'Tables of the application that are attached as memory.';
