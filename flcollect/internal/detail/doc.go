// Package detail has the faults of requests in the form of pydantic 1 and FastAPI, which the
// existing clients of training collectors read.
package detail
