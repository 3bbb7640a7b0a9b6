module github.com/iotenablers/enablers/test/interop/oidc

go 1.26.0

require (
	github.com/Nerzal/gocloak/v13 v13.9.0
	github.com/coreos/go-oidc/v3 v3.21.0
	github.com/iotenablers/enablers v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/oauth2 v0.36.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
	github.com/go-resty/resty/v2 v2.7.0 // indirect
	github.com/golang-jwt/jwt/v5 v5.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/opentracing/opentracing-go v1.2.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/segmentio/ksuid v1.0.4 // indirect
	github.com/swaggest/swgui v1.8.5 // indirect
	github.com/vearutop/statigz v1.4.0 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/iotenablers/enablers => ../../..
