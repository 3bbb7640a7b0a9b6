// Package contextstore keeps the public TenSEAL contexts of jobs, which their clients
// load. A context is a blob, named by a document for each job.
package contextstore
