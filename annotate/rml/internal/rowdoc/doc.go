// Package rowdoc holds rows of a table in memory, some at a time, and evaluates the names of
// columns against them. The rows come from a database, which converts their values to text.
package rowdoc
