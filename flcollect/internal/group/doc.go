// Package group has several servers conduct the jobs of one store: each job is conducted by one
// of them, which shows the others how it is. They claim the jobs of a server that is over, and
// relay clients to the server of their job.
package group
