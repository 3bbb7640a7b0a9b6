// Package audit keeps account of the updates of clients: what became of each in a round
// ([Attempt], [Clients]), the reports of finished rounds ([ReadReport]), and the audit log of a
// job ([Log], [Lines]).
package audit
