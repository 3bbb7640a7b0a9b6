// Package relational reads the tables of relational databases for mappings:
// the rows of a table, of a query, or of a join that the database does. It uses
// database/sql and knows no kind of database: a kind is a [Driver], as packages
// sqlite, postgres and mysql below it have.
//
// Values become text in their natural RDF lexical form (R2RML, section 10.2): a
// double is canonical (8.025E1), a timestamp has a T between date and time, bytes
// are hexadecimal.
//
// A column is looked up among those of the table by its name. A name in quotes
// is exact, and one without may differ in case if no other column then has the
// same name.
//
// Queries run in transactions that only read, where the database has them, and rows
// arrive as they are read: the memory does not depend on their number. No error shows a
// password.
package relational
