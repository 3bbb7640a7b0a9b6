// Package history keeps the numbers behind the plots of pages: what was measured, by name
// and time, in several resolutions and in bounded memory.
//
// A [Store] belongs to the system that measures. That system records its numbers every
// [Step], and its page serves [Store.Query] as JSON. There are three kinds of series:
//
//   - a level, such as the clients that are connected: the mean of each interval is kept;
//   - a total that only grows, such as the messages received: its rate a second is kept;
//   - a distribution, such as the durations of calls: how many values fell into each
//     bucket is kept, so that quantiles of every range are those of all its values.
//
// What is kept ends with the process.
package history
