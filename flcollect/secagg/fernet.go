package secagg

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// The parts of a Fernet token (the specification of Fernet, version 0x80):
// version, time, initialization vector, ciphertext, HMAC-SHA256.
const (
	fernetVersion = 0x80
	fernetHead    = 1 + 8 + aes.BlockSize
)

// maxToken bounds the bytes of a token. The two shares that it carries have
// fewer than two of the longest.
const maxToken = 4 * maxShare

var errToken = errors.New("a ciphertext is not of this sender, or was changed")

// seal encrypts data with Fernet under a key of agreeKey.
func seal(key, data []byte, now time.Time) ([]byte, error) {
	signing, stream, err := fernetKeys(key)
	if err != nil {
		return nil, err
	}
	padded := pad(data)
	token := make([]byte, fernetHead+len(padded))
	token[0] = fernetVersion
	binary.BigEndian.PutUint64(token[1:], uint64(now.Unix()))
	vector := token[9:fernetHead]
	rand.Read(vector) // never fails
	cipher.NewCBCEncrypter(stream, vector).CryptBlocks(token[fernetHead:], padded)
	mac := hmac.New(sha256.New, signing)
	mac.Write(token)
	return base64.URLEncoding.AppendEncode(nil, mac.Sum(token)), nil
}

// open returns what seal has encrypted under the same key, at any time.
func open(key, token []byte) ([]byte, error) {
	signing, stream, err := fernetKeys(key)
	if err != nil {
		return nil, err
	}
	if len(token) > maxToken {
		return nil, fmt.Errorf("a ciphertext has %d bytes; %d are allowed", len(token), maxToken)
	}
	decoded, err := base64.URLEncoding.AppendDecode(nil, token)
	if err != nil {
		return nil, errToken
	}
	end := len(decoded) - sha256.Size
	if end < fernetHead+aes.BlockSize || (end-fernetHead)%aes.BlockSize != 0 || decoded[0] != fernetVersion {
		return nil, errToken
	}
	mac := hmac.New(sha256.New, signing)
	mac.Write(decoded[:end])
	if !hmac.Equal(mac.Sum(nil), decoded[end:]) {
		return nil, errToken
	}
	data := decoded[fernetHead:end]
	cipher.NewCBCDecrypter(stream, decoded[9:fernetHead]).CryptBlocks(data, data)
	return unpad(data)
}

// fernetKeys divides a key into that of the HMAC and the cipher.
func fernetKeys(key []byte) (signing []byte, stream cipher.Block, err error) {
	decoded, err := base64.URLEncoding.AppendDecode(nil, key)
	if err != nil || len(decoded) != 32 {
		return nil, nil, errors.New("a key of Fernet is not 32 bytes in base64")
	}
	stream, err = aes.NewCipher(decoded[16:])
	return decoded[:16], stream, err
}

// parcel is what one client sends another: a share of the seed of its own
// mask, and a share of the private key from which its pair masks come.
type parcel struct {
	from, to            uint64
	seedShare, keyShare []byte
}

func (p parcel) encode() []byte {
	data := binary.LittleEndian.AppendUint64(nil, p.from)
	data = binary.LittleEndian.AppendUint64(data, p.to)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(p.seedShare)))
	return append(append(data, p.seedShare...), p.keyShare...)
}

func parseParcel(data []byte) (parcel, error) {
	if len(data) < 20 {
		return parcel{}, fmt.Errorf("a message of shares has %d bytes; it needs 20 or more", len(data))
	}
	length, rest := binary.LittleEndian.Uint32(data[16:]), data[20:]
	if uint64(length) > uint64(len(rest)) {
		return parcel{}, fmt.Errorf("a message of shares has %d bytes for a share of %d", len(rest), length)
	}
	return parcel{
		from: binary.LittleEndian.Uint64(data), to: binary.LittleEndian.Uint64(data[8:]),
		seedShare: rest[:length], keyShare: rest[length:],
	}, nil
}
