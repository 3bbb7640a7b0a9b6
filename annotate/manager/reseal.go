package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// StoredCredentials counts the user names and passwords of stored channels, one
// for each topic that has any.
type StoredCredentials struct {
	// Clear are stored in clear.
	Clear int
	// Sealed are encrypted and can be decrypted with the secret.
	Sealed int
	// Lost are encrypted and cannot be decrypted with the secret.
	Lost int
}

// CountCredentials counts the credentials in documents that a [Manager] has stored,
// by what the secret, which may be empty, makes of them. It changes nothing.
func CountCredentials(ctx context.Context, documents storage.Documents, secret string) (StoredCredentials, error) {
	var counts StoredCredentials
	sealer, err := newSealer(secret)
	if err != nil {
		return counts, err
	}
	for document, err := range storage.All(ctx, documents, channelPrefix) {
		if err != nil {
			return counts, fmt.Errorf("count stored credentials: %w", err)
		}
		r := readSealedRecord(document.Data)
		for place, stored := range r.credentials {
			_, err := sealer.open(r.place(place), stored)
			switch {
			case isClear(stored):
				counts.Clear++
			case err == nil:
				counts.Sealed++
			default:
				counts.Lost++
			}
		}
	}
	return counts, nil
}

// ResealCredentials encrypts, under the secret, the credentials of stored channels
// that are in clear, or encrypted under the former secret, which may be empty. What
// neither opens stays as it is. It returns how many it has encrypted. Nothing else may
// change the documents meanwhile: call it before [Manager.Run], and not on documents
// that several processes share.
func ResealCredentials(ctx context.Context, documents storage.Documents, secret, former string) (int, error) {
	if secret == "" {
		return 0, errors.New("manager: ResealCredentials: the secret is empty")
	}
	now, err := newSealer(secret)
	if err != nil {
		return 0, err
	}
	before, err := newSealer(former)
	if err != nil {
		return 0, err
	}
	total := 0
	for document, err := range storage.All(ctx, documents, channelPrefix) {
		if err != nil {
			return total, fmt.Errorf("encrypt stored credentials: %w", err)
		}
		data, count, err := resealRecord(document.Data, now, before)
		if err == nil && count > 0 {
			_, err = documents.Update(ctx, document.Key, document.Revision, data)
		}
		if err != nil {
			return total, fmt.Errorf("encrypt stored credentials of %q: %w", document.Key, err)
		}
		total += count
	}
	return total, nil
}

// resealRecord returns a record with the credentials that it had in clear, or
// under the former sealer, under the present one, and how many these are. It
// leaves every other member as it is.
func resealRecord(data []byte, now, before sealer) (_ []byte, count int, err error) {
	r := readSealedRecord(data)
	for place, stored := range r.credentials {
		if _, err := now.open(r.place(place), stored); err == nil && !isClear(stored) {
			continue
		}
		c, err := before.open(r.place(place), stored)
		if err != nil {
			continue // the Manager reports it
		}
		if r.credentials[place], err = now.seal(r.place(place), c); err != nil {
			return nil, 0, err
		}
		count++
	}
	if count == 0 {
		return data, 0, nil
	}
	if r.members["credentials"], err = json.Marshal(r.credentials); err != nil {
		return nil, 0, err
	}
	data, err = json.Marshal(r.members)
	return data, count, err
}

// sealedRecord is what must be read of a record in order to encrypt its
// credentials. All of it is empty if the record cannot be read.
type sealedRecord struct {
	members     map[string]json.RawMessage
	channel     string
	credentials map[string]string
}

func readSealedRecord(data []byte) sealedRecord {
	var r sealedRecord
	var known struct {
		Settings struct {
			ChannelID string `json:"channelId"`
		} `json:"settings"`
		Credentials map[string]string `json:"credentials"`
	}
	if json.Unmarshal(data, &known) != nil || json.Unmarshal(data, &r.members) != nil {
		return sealedRecord{} // the Manager reports it
	}
	r.channel, r.credentials = known.Settings.ChannelID, known.Credentials
	return r
}

// place is what the credentials of a topic are bound to.
func (r sealedRecord) place(topic string) string { return r.channel + " " + topic }
