// Package collectors has tests of several training collectors on one store: processes that
// are killed while Flower clients train.
package collectors
