// Package console is the page that shows what runs in a process: its services,
// and its channels with their counts, as they change.
//
// The page is whole without JavaScript; a small module keeps it up to date. It
// loads nothing from other origins, and its Content-Security-Policy says so.
package console
