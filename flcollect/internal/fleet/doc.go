// Package fleet is what several servers on one store agree on: which of them are alive,
// which one conducts each job, what it shows of the job, and what it is asked to do.
//
// Each server has one lease, which all of its jobs depend on. A job that has something to
// do has an entry that names the session of its server. An entry whose session is over
// belongs to the server that first replaces it.
package fleet
