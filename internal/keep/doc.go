// Package keep keeps the members of stored JSON documents that the running version does
// not have. A newer version may have stored them; a change by this one must not drop
// them, so that going back to the newer version loses nothing.
//
// [Unmarshal] reads a document and returns its unknown members, and [Members.Marshal]
// writes the changed value with them:
//
//	unknown, err := keep.Unmarshal(doc.Data, &record)
//	record.Title = title
//	data, err := unknown.Marshal(record)
//
// What is unknown follows from the type of the value, by the rules of encoding/json:
//
//   - A member that the type has is known. Whether it is written is up to the value: a
//     known member that the value omits is removed.
//   - A member that the type does not have is unknown, and stays as long as the object
//     that has it. Where the value has a member of that name after all, the value's wins.
//   - Objects below known members have unknown members of their own: those of structs,
//     of the values of maps, and of the elements of lists.
//   - A type may have a key: the field that the tag `keep:"key"` marks. An object of such
//     a type is recognised by it, in a list wherever it is by now. With another key it is
//     another object, and the unknown members of the first one go with it.
//   - Other objects are recognised by the name of their member. Elements of lists without a
//     key are recognised while nothing else in them has changed.
//   - A type with a JSON form of its own, such as one that implements json.Marshaler, is
//     one known value, unless it implements [Form]. [Find] and [Members.Put] are for
//     members that depend on more than the type.
//
// A document without unknown members, which is the usual one, costs one pass over its
// text when it is read, and nothing when it is written. [TypeFor] saves computing what the
// type has each time.
package keep
