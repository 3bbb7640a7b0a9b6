package fleet

import (
	"context"
	"encoding/json"

	"github.com/iotenablers/enablers/storage"
)

// Prefixes of the keys of stored documents.
const (
	InstancePrefix     = "instances/"
	ChannelLeasePrefix = "claims/" // the name of earlier versions
)

// ChannelLease is the document that says which instance runs a channel. It is
// valid as long as the instance has the session, by its own lease. It is made
// after the document of the channel, and after the lease of the instance. An
// instance that reads channel leases first, instance leases second and channels
// third therefore knows that a document which it then misses is removed.
type ChannelLease struct {
	Instance string `json:"instance"`
	Session  string `json:"session"`
	Report
}

// Report is what the instance that runs a channel says about it. It is written
// when it changes, and not otherwise.
type Report struct {
	Stopped  bool   `json:"stopped,omitempty"`
	Retrying bool   `json:"retrying,omitempty"`
	Error    string `json:"error,omitempty"`
}

// NewChannelLease returns the lease on a channel for this instance, in its
// present session.
func (f *Fleet) NewChannelLease() ChannelLease {
	return ChannelLease{Instance: f.name, Session: f.Session(), Report: Report{Stopped: true}}
}

// WriteChannelLease stores the lease on a channel: as a new document when prev is
// zero, and otherwise in place of the one with that revision.
func (f *Fleet) WriteChannelLease(
	ctx context.Context, channel string, prev storage.Revision, l ChannelLease,
) (storage.Revision, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return 0, err
	}
	if prev == 0 {
		return f.documents.Create(ctx, ChannelLeasePrefix+channel, data)
	}
	return f.documents.Update(ctx, ChannelLeasePrefix+channel, prev, data)
}

// DeleteChannelLease removes the lease on a channel.
func (f *Fleet) DeleteChannelLease(ctx context.Context, channel string, revision storage.Revision) error {
	return f.documents.Delete(ctx, ChannelLeasePrefix+channel, revision)
}

// DecodeChannelLease reads the lease on a channel. One that cannot be read names
// no instance.
func DecodeChannelLease(data []byte) ChannelLease {
	var l ChannelLease
	if len(data) > 0 {
		_ = json.Unmarshal(data, &l)
	}
	return l
}
