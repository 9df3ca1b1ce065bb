-- The form of decisions about memories, by a model, a person or a rule: a JSON Schema, so that a
-- prompt can carry what apply_decisions() checks against. Whatever does not apply is null or left
-- out: models write null more readily than leave something out.
CREATE OR REPLACE FUNCTION decision_schema() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{
  "type": "array",
  "maxItems": 1000,
  "items": {
    "type": "object",
    "required": ["action"],
    "additionalProperties": false,
    "properties": {
      "action": {
        "type": "string",
        "enum": ["ADD", "UPDATE", "DELETE", "NOOP", "SUPERSEDE", "REPLACE", "MERGE", "KEEP_BOTH"],
        "description": "ADD content. UPDATE memory_id: the values given replace its own. '
'DELETE memory_id: no longer true; with content: this is true instead. NOOP: nothing to do. '
'SUPERSEDE memory_id: it was true, now content is, or the stored memory named by. '
'REPLACE memory_id: content says the same better. MERGE memory_id or memory_ids into content. '
'KEEP_BOTH: add content beside memory_id."
      },
      "memory_id": {
        "type": ["string", "integer", "null"],
        "description": "Id of the stored memory the decision is about."
      },
      "memory_ids": {
        "type": ["array", "null"],
        "maxItems": 100,
        "items": {"type": ["string", "integer"]},
        "description": "Ids of several; not for UPDATE and REPLACE."
      },
      "by": {
        "type": ["string", "integer", "null"],
        "description": "SUPERSEDE: id of the stored memory that is true now, instead of content."
      },
      "content": {
        "type": ["string", "null"],
        "description": "The text to remember, complete and understandable by itself."
      },
      "kind": {
        "type": ["string", "null"],
        "description": "Kind of a new memory; by default that of the memory it follows."
      },
      "subject": {
        "type": ["string", "null"],
        "maxLength": 200,
        "description": "The single-valued slot it fills, such as user.framework."
      },
      "summary": {"type": ["string", "null"], "description": "The content in one short line."},
      "data": {"type": ["object", "null"], "description": "Structured data that belongs to it."},
      "importance": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
      "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
      "lifetime": {
        "type": ["string", "null"],
        "enum": ["core", "working", "temporary", null],
        "description": "core: for good; working: for weeks; temporary: for days."
      },
      "valid_from": {
        "type": ["string", "null"],
        "description": "Since when it is true, as 2026-03-01 or 2026-03-01T09:30:00Z."
      },
      "valid_until": {"type": ["string", "null"], "description": "Until when it is true."},
      "speaker": {"type": ["string", "null"], "maxLength": 200, "description": "Who said it."},
      "keywords": {"type": ["array", "null"], "maxItems": 50, "items": {"type": "string"}},
      "sources": {
        "type": ["array", "null"],
        "maxItems": 100,
        "items": {"type": ["string", "integer"]},
        "description": "Ids of the stored memories a new one was drawn from."
      },
      "reason": {"type": ["string", "null"], "description": "Why, in one sentence."}
    }
  }
}'::jsonb;

COMMENT ON FUNCTION decision_schema() IS
    'The JSON Schema of what apply_decisions() takes: an array of at most 1,000 decisions, objects '
    'with an action and what it needs; the descriptions are written for a model. Source: D3 4.2, '
    'D1 4.1, D4 5.8.';
