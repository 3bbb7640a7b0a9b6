// Package console puts the pages of a program's parts into one shell, below one folder of
// its listener.
package console
