CREATE TABLE IF NOT EXISTS echoless_jobs.files (
    job text NOT NULL,
    name text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (job, name)
);
CREATE TABLE IF NOT EXISTS echoless_jobs.queue (
    job text NOT NULL,
    number integer NOT NULL,
    memories bigint NOT NULL,
    namespaces text NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    attempts integer NOT NULL DEFAULT 0,
    worker bigint,
    worker_name text,
    outcome text,
    PRIMARY KEY (job, number)
);
CREATE INDEX IF NOT EXISTS queue_by_state
    ON echoless_jobs.queue (job, state, memories DESC, number);
