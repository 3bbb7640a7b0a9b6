// Package archtest checks the plan of the project: which package may import which, what a
// library may not do, how symbols, tests and lines are written.
//
// # The parts
//
//   - table.go is the plan: the import table, the packages that must not be
//     linked, the packages that speak HTTP, the exceptions with their reasons.
//     Change the plan there.
//   - tree.go reads the source tree into packages and files. Files of every
//     operating system are read, whatever the machine that the tests run on.
//   - rule.go lists the rules. Each has a name, a reason and a remedy, and each
//     is a function of the tree in the file named after its subject.
//
// A new rule comes with a fake tree that breaks it. The test
// TestRules_failForATreeThatBreaksThem fails for a rule without one.
package archtest
