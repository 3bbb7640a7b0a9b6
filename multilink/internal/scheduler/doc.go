// Package scheduler is the queue of one link: it decides which of the packets that
// wait is sent next, by class, weight, age and rate.
package scheduler
