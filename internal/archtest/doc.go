// Package archtest holds the house plan as tests: who may import whom, what a
// library may not do, and what every exported symbol owes its reader.
//
// # The parts
//
//   - table.go is the plan: the import table, the packages that must not be
//     linked, the homes of net/http, the exceptions. Change the plan there, and
//     ARCHITECTURE.md with it.
//   - tree.go reads the source tree into packages and files. Files of every
//     operating system are read, whatever the machine that the tests run on.
//   - rule.go lists the rules. Each has a name, a reason and a remedy, and each
//     is a function of the tree in the file named after its subject.
//
// A rule is added with a fake tree that breaks it: TestEveryRuleCanFail refuses
// a rule that has none.
package archtest
