// Package channelform has the JSON forms of channels and mappings, which stored records, the
// REST interface and the pages share.
package channelform
