// Package audit keeps account of the updates of clients: what became of each in a round
// ([Attempt], [ClientReport], [Updates]), the reports of finished rounds ([RoundReport]),
// and the audit log of a job ([Line], [Log], [Verify]).
package audit
