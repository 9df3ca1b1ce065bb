-- The records of an export: what a line may be, in the order of the file, so that each names only
-- records above it. Version 1; a different set of fields is a different version.
--
-- The data of a user is one of three: moved by these records; derived, and rebuilt by an import
-- (trace except its vector, term, the cached parts of profile, places in the index); or work in
-- progress (job, uncompared, source_error, import). tests/75_files/test_move_all.py walks the
-- catalogue, so that no table and no column is forgotten.
CREATE OR REPLACE FUNCTION _records()
    RETURNS TABLE (place smallint, record text, fields text[], needed text[])
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT r.place::smallint, r.record, r.fields::text[] || r.needed::text[], r.needed::text[]
    FROM (VALUES
        (1, 'user', '{settings,rolling_summary,summarised_at}', '{}'),
        (2, 'session', '{data,ended_at,questions}',
         '{session_id,temporary,started_at,next_position}'),
        (3, 'message', '{speaker,data,private}', '{session_id,position,role,content,created_at}'),
        (4, 'entity', '{}', '{entity_id,name,type,created_at}'),
        (5, 'memory',
         '{summary,data,subject,session_id,position,speaker,source,source_key,valid_until,'
         'retired_at,keywords,entity_ids,recalled,embedding}',
         '{memory_id,kind,content,importance,confidence,origin,valid_from,lifetime,status,'
         'created_at,recorded_at,updated_at}'),
        (6, 'relation', '{change_id}', '{from_id,to_id,type,strength,created_at}'),
        (7, 'revision', '{reason,old_values,run_id,undoes}',
         '{revision_id,memory_id,action,author,change_id,created_at}'),
        (8, 'file_entry', '{}', '{entry_id,memory_id,place,written,digest}'),
        (9, 'file_head', '{}', '{name,written,read_at}'),
        (10, 'event', '{archived,log_entry,log_place,source,source_key}',
         '{event_id,type,payload,created_at}'),
        (11, 'gold', '{embedding}', '{gold_id,gold_set,query,created_at,relevant}'),
        (12, 'expansion', '{}', '{query,expansion,uses,created_at}'),
        (13, 'retrieval', '{as_of,used_ids}',
         '{retrieval_id,created_at,mode,query,ids,kinds,scores,weights,chosen,token_used,'
         'token_budget,elapsed_ms,counted}'),
        (14, 'tool_call', '{total_found}',
         '{tool_call_id,created_at,tool,arguments,memory_ids,elapsed_ms,counted}')
    ) AS r (place, record, fields, needed);
END;

-- The sequences whose numbers appear in the records. One constant each: with all of them in one
-- array pg_dump would not know what to restore first.
CREATE OR REPLACE FUNCTION _id_sequences() RETURNS regclass[]
    LANGUAGE sql STABLE
    RETURN ARRAY['memory_memory_id_seq'::regclass, 'revision_revision_id_seq'::regclass,
                 'change_id_seq'::regclass, 'run_id_seq'::regclass,
                 'entity_entity_id_seq'::regclass, 'event_event_id_seq'::regclass,
                 'gold_gold_id_seq'::regclass, 'retrieval_retrieval_id_seq'::regclass,
                 'tool_call_tool_call_id_seq'::regclass];
