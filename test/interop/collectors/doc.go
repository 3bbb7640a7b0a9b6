// Package collectors has tests of several training collectors on one store: commands that
// are killed while Flower clients train.
package collectors
