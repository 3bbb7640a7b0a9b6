package s3

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// URLForm is the form that [ParseURL] reads, for the help text of commands.
const URLForm = "s3://[KEY:SECRET@]HOST[:PORT]/BUCKET[/PREFIX][?region=…&insecure=true&path-style=true" +
	"&create-bucket=true&instance-role=true]"

// ParseURL reads a configuration from a text of the form [URLForm]. The key,
// the secret and the prefix are percent-encoded as in RFC 3986. Without
// KEY:SECRET the credentials are those of the environment, see
// [Config].AccessKey, which is the better place: command lines and URLs are
// often shown. The parameters set the fields Region, Insecure, PathStyle,
// CreateBucket and InstanceRole; an unknown or repeated parameter is an error.
//
// Only the form is checked; [New] checks the rest. No error shows the text,
// for it may hold a secret.
func ParseURL(text string) (Config, error) {
	config, err := parseURL(text)
	if err != nil {
		return Config{}, fmt.Errorf("s3 URL (not shown, for it may hold a secret): %w", err)
	}
	return config, nil
}

func parseURL(text string) (Config, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Opaque != "":
		return Config{}, errors.New("it is not a URL; a secret with other characters than letters and digits must be " +
			"percent-encoded")
	case parsed.Scheme != "s3":
		return Config{}, errors.New("it must begin with s3://")
	case parsed.Fragment != "" || strings.HasSuffix(text, "#"):
		return Config{}, errors.New("it must not have a fragment; write # as %23")
	case parsed.Hostname() == "":
		return Config{}, errors.New("the host is missing; the form is " + URLForm)
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	if bucket == "" {
		return Config{}, errors.New("the bucket is missing: the host comes first; the form is " + URLForm)
	}
	config := Config{Endpoint: parsed.Host, Bucket: bucket, Prefix: prefix}
	if parsed.User != nil {
		config.AccessKey = parsed.User.Username()
		config.SecretKey, _ = parsed.User.Password()
		if config.AccessKey == "" || config.SecretKey == "" {
			return Config{}, errors.New("before the @ must be both, KEY:SECRET")
		}
	}
	err = config.setParameters(parsed.RawQuery)
	return config, err
}

func (c *Config) setParameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("its parameters cannot be read")
	}
	switches := map[string]*bool{
		"insecure":      &c.Insecure,
		"path-style":    &c.PathStyle,
		"create-bucket": &c.CreateBucket,
		"instance-role": &c.InstanceRole,
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names) // so that the error is always the same
	for _, name := range names {
		if len(values[name]) != 1 {
			return fmt.Errorf("the parameter %.40q is given twice", name)
		}
		value := values.Get(name)
		if name == "region" {
			c.Region = value
			continue
		}
		field := switches[name]
		if field == nil {
			return fmt.Errorf("the parameter %.40q is not known; the form is %s", name, URLForm)
		}
		if *field, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("the parameter %s must be true or false", name)
		}
	}
	return nil
}
