// Package xsd has what the mapping engine needs of the datatypes of XML Schema
// 1.1 Part 2: their names, their lexical spaces, and the canonical form of a
// double.
package xsd
