// Package form describes the fields of HTML forms once: a [Field] has the texts of its control, what
// browsers check, the value and the fault. The template "field", which is part of all pages of
// [shell], renders it with its label, its hint and its fault beside it.
//
// A form that edits JSON uses [Fields.Show], [Fields.Read] and [Fields.Blame]: fields get their
// values from an object, put what browsers send into one, and get the faults of its members. Other
// forms use [Fields.Fill] and read [Fields.Get].
//
// What was typed is shown again after a fault, except secrets, which are never in a page.
//
// [shell]: github.com/iotenablers/enablers/internal/shell
package form
