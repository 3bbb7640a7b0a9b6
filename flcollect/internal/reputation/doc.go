// Package reputation scores the clients of a job by what their updates have cost, and
// suspends those whose updates are refused or cut far beyond the bound again and again.
//
// [Table.Judge] applies the rule after each round. [Table.Save] and [Table.Load] store
// the scores so that they count exactly when their round does.
package reputation
