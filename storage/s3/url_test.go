package s3_test

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/s3"
)

func TestParseURL_setsTheConfiguration(t *testing.T) {
	for text, want := range map[string]s3.Config{
		"s3://s3.amazonaws.com/models": {Endpoint: "s3.amazonaws.com", Bucket: "models"},
		"s3://k:s%2F%40@[::1]:9000/models/a/b%20c/?region=eu-central-1&insecure=true&path-style=1&create-bucket=true": {
			Endpoint: "[::1]:9000", Bucket: "models", Prefix: "a/b c/", AccessKey: "k", SecretKey: "s/@",
			Region: "eu-central-1", Insecure: true, PathStyle: true, CreateBucket: true,
		},
		"s3://h/b?instance-role=true&insecure=false": {Endpoint: "h", Bucket: "b", InstanceRole: true},
	} {
		config, err := s3.ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, config, text)
	}
}

func TestParseURL_hidesTheSecretOfABadURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "must begin with s3://",
		"http://k:hidden@h/b":               "must begin with s3://",
		"s3:k:hidden@h/b":                   "not a URL",
		"s3://k:hidden/x@h/b":               "not a URL",
		"s3://k:hidden@h:port/b":            "not a URL",
		"s3://k:hidden@h":                   "the bucket is missing",
		"s3://k:hidden@/b":                  "the host is missing",
		"s3:///b":                           "the host is missing",
		"s3://hidden@h/b":                   "KEY:SECRET",
		"s3://:hidden@h/b":                  "KEY:SECRET",
		"s3://k:hidden@h/b#x":               "fragment",
		"s3://k:hidden@h/b?regoin=x":        `"regoin" is not known`,
		"s3://k:hidden@h/b?region=x&region": `"region" is given twice`,
		"s3://k:hidden@h/b?insecure=hidden": "insecure must be true or false",
		"s3://k:hidden@h/b?insecure=%zz":    "cannot be read",
	} {
		_, err := s3.ParseURL(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hidden")
	}
}

func TestNew_refusesABadConfiguration(t *testing.T) {
	for want, change := range map[string]func(c *s3.Config){
		"Config.Endpoint: must be set":               func(c *s3.Config) { c.Endpoint = "" },
		"Config.Endpoint: must be HOST or HOST:PORT": func(c *s3.Config) { c.Endpoint = "http://hidden@h" },
		"Config.Bucket":                              func(c *s3.Config) { c.Bucket = "A" },
		"Config.Prefix: has 181 bytes":               func(c *s3.Config) { c.Prefix = strings.Repeat("p", 180) },
		"Config.Prefix: must be UTF-8":               func(c *s3.Config) { c.Prefix = "a\nb" },
		`Config.Prefix: "a//b/" has`:                 func(c *s3.Config) { c.Prefix = "a//b" },
		`Config.Prefix: "../" has`:                   func(c *s3.Config) { c.Prefix = ".." },
		`Config.Prefix: "/" has`:                     func(c *s3.Config) { c.Prefix = "/" },
		"Config.AccessKey and SecretKey":             func(c *s3.Config) { c.AccessKey = "" },
		"Config.InstanceRole":                        func(c *s3.Config) { c.InstanceRole = true },
		"Config.SessionToken": func(c *s3.Config) {
			c.AccessKey, c.SecretKey, c.SessionToken = "", "", "hidden"
		},
		"Config.TLS":      func(c *s3.Config) { c.TLS = new(tls.Config) },
		"Config.PartSize": func(c *s3.Config) { c.PartSize = 1 },
		"Config.Uploads: must be 1 to 64, got -1":            func(c *s3.Config) { c.Uploads = -1 },
		"Config.Attempts":                                    func(c *s3.Config) { c.Attempts = -1 },
		"Config.Timeout":                                     func(c *s3.Config) { c.Timeout = -1 },
		"Config.UploadAge: must be at least 2h0m0s, got 1m":  func(c *s3.Config) { c.UploadAge = time.Minute },
		"no credentials: set Config.AccessKey and SecretKey": func(c *s3.Config) { c.AccessKey, c.SecretKey = "", "" },
	} {
		config := s3.Config{Endpoint: "127.0.0.1:1", Bucket: "models", Insecure: true, AccessKey: "key", SecretKey: "hidden"}
		change(&config)
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		_, err := s3.New(config)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}
}

func TestConfig_hidesTheSecretWhenPrinted(t *testing.T) {
	config := s3.Config{
		Endpoint:     "h:1",
		Bucket:       "b",
		Prefix:       "p/",
		AccessKey:    "key",
		SecretKey:    "hidden",
		SessionToken: "hidden",
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("open", "store", config)
	shown := fmt.Sprintf("%v %+v %#v %s ", config, config, config, &config) + log.String()
	require.NotContains(t, shown, "hidden")
	require.Contains(t, shown, "s3://h:1/b/p/")
}

func FuzzParseURL(f *testing.F) {
	f.Add("s3://k:s@127.0.0.1:9000/bucket/prefix?region=eu&insecure=true")
	f.Add("s3://h/b/%2F?path-style=x")
	f.Add("s3://k:%zz@h/b")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := s3.ParseURL(text)
		if err != nil {
			require.Zero(t, config)
			return
		}
		require.NotEmpty(t, config.Endpoint)
		require.NotEmpty(t, config.Bucket)
		again := url.URL{Scheme: "s3", Host: config.Endpoint, Path: "/" + config.Bucket + "/" + config.Prefix}
		second, err := s3.ParseURL(again.String())
		require.NoError(t, err)
		require.Equal(t, config.Bucket, second.Bucket)
		require.Equal(t, config.Prefix, second.Prefix)
	})
}
