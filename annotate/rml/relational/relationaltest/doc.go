// Package relationaltest has tests for drivers of package relational: the
// public test cases of R2RML and of RML over SQL, which are read where they lie, and
// servers of PostgreSQL and MariaDB that a test starts.
package relationaltest
