// Package desired has the configuration of an instance: its settings as they are stored, the
// forms in which requests have them, and the edits that change them.
package desired
