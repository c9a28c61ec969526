//! The tables.

/// Marks the file as a history of kgen: `kgen` in ASCII.
pub(super) const APPLICATION: i64 = 0x6b67_656e;

/// Version of the tables.
pub(super) const FORMAT: i64 = 1;

/// Settings of every connection that writes.
pub(super) const SESSION: &str = "
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
";

/// Makes them in a file that has none.
///
/// Samples have a table of their own, so that medians are read without them; `times` alone answers how
/// every series went.
pub(super) const MAKE: &str = "
BEGIN IMMEDIATE;
PRAGMA application_id = 0x6b67656e;
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    tag TEXT UNIQUE,
    -- Milliseconds since 1970.
    created INTEGER NOT NULL,
    added INTEGER NOT NULL,
    device TEXT NOT NULL,
    -- JSON.
    fingerprint TEXT,
    n_results INTEGER NOT NULL,
    -- SHA-256 of all that was added.
    digest BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY,
    op TEXT NOT NULL,
    dtype TEXT NOT NULL,
    args TEXT NOT NULL,
    implementation TEXT NOT NULL,
    -- Name of the case in the bench or run that came first.
    name TEXT NOT NULL,
    UNIQUE (op, dtype, args, implementation)
) STRICT;
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL REFERENCES entries (number),
    series INTEGER NOT NULL REFERENCES series (id),
    outcome TEXT NOT NULL,
    reason TEXT,
    mode TEXT,
    median_us REAL,
    q1_us REAL,
    q3_us REAL,
    low_us REAL,
    high_us REAL,
    n_samples INTEGER,
    source_hash TEXT,
    UNIQUE (entry, series)
) STRICT;
CREATE INDEX IF NOT EXISTS times ON results (series, entry, mode, median_us);
CREATE TABLE IF NOT EXISTS samples (
    result INTEGER PRIMARY KEY REFERENCES results (id),
    -- Microseconds as f32, little endian.
    samples BLOB NOT NULL
) STRICT;
COMMIT;
";
