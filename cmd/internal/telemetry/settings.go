package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpclient"
)

// The variables that OTLP has twice begin with one of these: the first is for traces alone.
const (
	forTraces = "OTEL_EXPORTER_OTLP_TRACES_"
	forAll    = "OTEL_EXPORTER_OTLP_"
)

// wanted reports whether the environment asks for the export of traces. It logs the exporters
// that there are not.
func wanted(log *slog.Logger) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	exporters := os.Getenv("OTEL_TRACES_EXPORTER")
	if exporters == "" {
		return os.Getenv(forTraces+"ENDPOINT") != "" || os.Getenv(forAll+"ENDPOINT") != ""
	}
	otlp := false
	for one := range strings.SplitSeq(exporters, ",") {
		switch one = strings.TrimSpace(one); one {
		case "otlp":
			otlp = true
		case "none":
		default:
			log.Error("OTEL_TRACES_EXPORTER names an exporter that this server does not have; expected otlp or none", "exporter", one)
		}
	}
	return otlp
}

// settings are those of the export.
type settings struct {
	endpoint *url.URL
	headers  map[string]string
	timeout  time.Duration // of one request
	gzip     bool
	tls      *tls.Config // nil means the defaults
}

// readSettings reads the environment. Its errors show no header.
func readSettings() (*settings, error) {
	s := &settings{timeout: 10 * time.Second}
	if name, protocol := variable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s: %q is not supported; set http/protobuf, and the endpoint of the receiver's OTLP over HTTP, "+
			"which has port 4318 where gRPC has 4317", name, protocol)
	}
	var errs []error
	wrong := func(name, format string, arguments ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, arguments...)))
	}
	name, text := variable("ENDPOINT")
	if text == "" {
		name, text = forAll+"ENDPOINT", "http://localhost:4318"
	}
	var err error
	if s.endpoint, err = httpclient.BaseURL(text); err != nil {
		wrong(name, "%v", err)
	} else if name == forAll+"ENDPOINT" {
		s.endpoint.Path = path.Join("/", s.endpoint.Path, "v1/traces")
	}
	if name, text := variable("HEADERS"); text != "" {
		if s.headers, err = parseHeaders(text); err != nil {
			wrong(name, "%v", err)
		}
	}
	if name, text := variable("TIMEOUT"); text != "" {
		milliseconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || milliseconds <= 0 {
			wrong(name, "expected a positive number of milliseconds, got %q", text)
		}
		s.timeout = time.Duration(milliseconds) * time.Millisecond
	}
	switch name, text := variable("COMPRESSION"); text {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		wrong(name, "expected gzip or none, got %q", text)
	}
	if s.tls, err = readTLS(); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(append(errs, checkSampler())...)
}

// variable returns the value of a variable that OTLP has twice, and which of the two has it.
func variable(suffix string) (name, value string) {
	for _, prefix := range []string{forTraces, forAll} {
		if value := os.Getenv(prefix + suffix); value != "" {
			return prefix + suffix, value
		}
	}
	return forAll + suffix, ""
}

// parseHeaders reads NAME=VALUE separated by commas; values are percent-encoded.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || name == "" || err != nil || strings.ContainsAny(name, " \r\n\x00") || strings.ContainsAny(decoded, "\r\n\x00") {
			return nil, errors.New("expected NAME=VALUE separated by commas, values percent-encoded; they may be secrets and are not shown")
		}
		headers[name] = decoded
	}
	return headers, nil
}

// readTLS reads the certificates of the receiver's authorities and of this client.
func readTLS() (*tls.Config, error) {
	authorities, ca := variable("CERTIFICATE")
	certificates, certificate := variable("CLIENT_CERTIFICATE")
	keys, key := variable("CLIENT_KEY")
	if ca == "" && certificate == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", authorities, err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %q holds no certificate in PEM", authorities, ca)
		}
	}
	if (certificate == "") != (key == "") {
		return nil, fmt.Errorf("%s, %s: one needs the other", certificates, keys)
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", certificates, keys, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// checkSampler returns an error for a sampler that the SDK does not know, which it would
// replace by another one.
func checkSampler() error {
	known := []string{"", "always_on", "always_off", "traceidratio",
		"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
	sampler := os.Getenv("OTEL_TRACES_SAMPLER")
	if !slices.Contains(known, sampler) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not known; expected one of%s", sampler, strings.Join(known, " "))
	}
	if text := os.Getenv("OTEL_TRACES_SAMPLER_ARG"); text != "" && strings.HasSuffix(sampler, "traceidratio") {
		if ratio, err := strconv.ParseFloat(text, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: expected a ratio from 0 to 1, got %q", text)
		}
	}
	return nil
}
