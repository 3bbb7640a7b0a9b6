package s3

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const (
	minPartSize = 5 << 20 // of S3
	maxPartSize = 1 << 30
	maxParts    = 10_000 // of S3
	// maxPrefix leaves a record's name within the 1,024 bytes of S3.
	maxPrefix = 180
)

// Config configures a [Store]. Endpoint and Bucket are required; the zero value
// of every other field is its default.
type Config struct {
	// Endpoint is HOST or HOST:PORT of the server, as in
	// "s3.eu-central-1.amazonaws.com" or "127.0.0.1:9000".
	Endpoint string
	// Bucket is the bucket's name.
	Bucket string
	// Prefix is put before the name of every object, so that several stores share
	// a bucket. No prefix may be the beginning of another. It is at most 180 bytes
	// and ends in a slash, which is added if it is missing. Empty means that the
	// bucket belongs to this store.
	Prefix string
	// AccessKey and SecretKey are the credentials. Both empty means those of
	// the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
	// AWS_SESSION_TOKEN.
	AccessKey, SecretKey string
	// SessionToken goes with temporary credentials. Empty means none.
	SessionToken string
	// InstanceRole uses the credentials of the role of the machine or container
	// instead, and renews them: web identity files, ECS, EC2.
	InstanceRole bool
	// Region is the region of the bucket. Empty means that of the server.
	Region string
	// Insecure uses HTTP without TLS.
	Insecure bool
	// TLS is the configuration of TLS. Nil means the system's certificates and
	// TLS 1.2 or newer.
	TLS *tls.Config
	// PathStyle puts the bucket into the path of every URL. False does so too,
	// except for the endpoints of Amazon, Google and Alibaba, which require it in
	// the host name.
	PathStyle bool
	// CreateBucket makes Open create a missing bucket.
	CreateBucket bool
	// PartSize is how many bytes are uploaded in one request, 5 MiB to 1 GiB. A
	// blob has at most 10,000 parts. Zero means 16 MiB, for blobs of up to 156
	// GiB.
	PartSize int
	// Uploads is how many parts of one blob are uploaded at one time, at most
	// 64. A writer holds one part more than that in memory. Zero means 2.
	Uploads int
	// Attempts is how often a request that fails in the network or with 429 or 5xx
	// is tried in all, with growing pauses of up to a second. Zero means 10.
	Attempts int
	// Timeout is how long a connection may be idle during a request before the
	// request fails. Zero means one minute.
	Timeout time.Duration
	// UploadAge is the age at which an upload without Commit is abandoned and
	// removed, at least two hours. Zero means 24 hours.
	UploadAge time.Duration
	// SweepInterval is how often [Store.Sweep] runs by itself. Zero means every
	// hour, a negative value never.
	SweepInterval time.Duration
	// Logger gets a warning when an automatic sweep fails. Nil is silent.
	Logger *slog.Logger
}

// String returns the endpoint, the bucket and the prefix as an URL, without
// credentials.
func (c Config) String() string {
	return (&url.URL{Scheme: "s3", Host: c.Endpoint, Path: "/" + c.Bucket + "/" + c.Prefix}).String()
}

// GoString is String: the fields hold a secret.
func (c Config) GoString() string { return c.String() }

// LogValue implements [slog.LogValuer] with String.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// complete checks the configuration and sets the defaults.
func (c *Config) complete() error {
	if c.Prefix != "" && !strings.HasSuffix(c.Prefix, "/") {
		c.Prefix += "/"
	}
	c.PartSize = cmp.Or(c.PartSize, 16<<20)
	c.Uploads = cmp.Or(c.Uploads, 2)
	c.Attempts = cmp.Or(c.Attempts, 10)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.UploadAge = cmp.Or(c.UploadAge, 24*time.Hour)
	c.SweepInterval = cmp.Or(c.SweepInterval, time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkEndpoint(c.Endpoint); err != nil {
		return fmt.Errorf("Config.Endpoint: %w", err)
	}
	if err := s3utils.CheckValidBucketNameStrict(c.Bucket); err != nil {
		return fmt.Errorf("Config.Bucket: %.100q: %w", c.Bucket, err)
	}
	if err := checkPrefix(c.Prefix); err != nil {
		return fmt.Errorf("Config.Prefix: %w", err)
	}
	switch {
	case (c.AccessKey == "") != (c.SecretKey == ""):
		return errors.New("Config.AccessKey and SecretKey: one is set and the other is not")
	case c.AccessKey != "" && c.InstanceRole:
		return errors.New("Config.InstanceRole: it is set together with AccessKey")
	case c.AccessKey == "" && c.SessionToken != "":
		return errors.New("Config.SessionToken: it is set, but AccessKey is not")
	case c.Insecure && c.TLS != nil:
		return errors.New("Config.TLS: it is set together with Insecure")
	case c.PartSize < minPartSize || c.PartSize > maxPartSize:
		return fmt.Errorf("Config.PartSize: must be %d to %d, got %d", minPartSize, maxPartSize, c.PartSize)
	case c.Uploads < 1 || c.Uploads > 64:
		return fmt.Errorf("Config.Uploads: must be 1 to 64, got %d", c.Uploads)
	case c.Attempts < 1:
		return fmt.Errorf("Config.Attempts: must be at least 1, got %d", c.Attempts)
	case c.Timeout < 0:
		return fmt.Errorf("Config.Timeout: must not be negative, got %v", c.Timeout)
	case c.UploadAge < grace:
		return fmt.Errorf("Config.UploadAge: must be at least %v, got %v", grace, c.UploadAge)
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return errors.New("must be set")
	}
	parsed, err := url.Parse("//" + endpoint)
	if err != nil || parsed.Host != endpoint || parsed.Hostname() == "" {
		return errors.New("must be HOST or HOST:PORT") // not shown: it may hold credentials
	}
	return nil
}

// checkPrefix returns an error if no object name may begin with the prefix.
func checkPrefix(prefix string) error {
	if len(prefix) > maxPrefix {
		return fmt.Errorf("has %d bytes, the most is %d", len(prefix), maxPrefix)
	}
	if !utf8.ValidString(prefix) ||
		strings.ContainsFunc(prefix, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return errors.New("must be UTF-8 without control characters and backslashes")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(prefix, "/"), "/") {
		if prefix != "" && (part == "" || part == "." || part == "..") {
			return fmt.Errorf("%q has an empty part, or one of dots", prefix)
		}
	}
	return nil
}

// client returns the library's client.
func (c *Config) client(connections *connections) (*minio.Core, error) {
	provider, err := c.credentials()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	core, err := minio.NewCore(c.Endpoint, &minio.Options{
		Creds:        provider,
		Secure:       !c.Insecure,
		Transport:    connections,
		Region:       c.Region,
		BucketLookup: lookup,
		MaxRetries:   c.Attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("Config.Endpoint: %w", err)
	}
	core.SetAppInfo("enablers", "1")
	return core, nil
}

func (c *Config) credentials() (*credentials.Credentials, error) {
	switch {
	case c.InstanceRole:
		return credentials.NewIAM(""), nil
	case c.AccessKey != "":
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken), nil
	}
	access, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if access == "" || secret == "" {
		return nil, errors.New("no credentials: set Config.AccessKey and SecretKey, or AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY in the environment")
	}
	return credentials.NewStaticV4(access, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
}
