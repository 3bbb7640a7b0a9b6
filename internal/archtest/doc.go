// Package archtest holds the house plan as tests: who may import whom, what a
// library may not do, and what every exported symbol owes its reader.
//
// # The parts
//
//   - table.go is the plan: the import table, the packages that must not be
//     linked, the packages that speak HTTP, the exceptions with their reasons.
//     Change the plan there, and ARCHITECTURE.md with it.
//   - debts.go counts, by rule and folder, the places that are older than a rule
//     and still break it. The counts can only shrink.
//   - tree.go reads the source tree into packages and files. Files of every
//     operating system are read, whatever the machine that the tests run on.
//   - rule.go lists the rules. Each has a name, a reason and a remedy, and each
//     is a function of the tree in the file named after its subject.
//
// A rule is added with a fake tree that breaks it:
// TestRules_failForATreeThatBreaksThem
// refuses a rule without one.
package archtest
