// Package settings is what an administrator sets of a bond: its links, policy and
// classes of traffic. The values are plain data. Check reports the first field of a
// value that is not allowed; the error wraps multilink.ErrInvalid.
package settings
