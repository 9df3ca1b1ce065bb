-- Undoes 0008_tools.sql.
DROP TABLE tool_call;
DROP TABLE tool;
DROP TYPE search_result;
DELETE FROM prompt WHERE kind = 'system_prompt';
