// Package shell is the frame of all pages: the header with the sections of the platform and
// the person who is signed in, the path to the page, notices, and the script that writes
// times and shows errors.
//
// The pages of a room are a [Part], which works wherever its handler is mounted: all
// addresses in its pages are relative. A program that serves several parts puts a [Shell]
// around them, and every page has its sections and its person. Without a Shell a page shows
// its own section alone.
package shell
