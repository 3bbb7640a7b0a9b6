// Package ha kills the processes of a platform whose blocks share one database and one bucket,
// at random and under load, and looks for what was lost, doubled or left half done.
package ha
