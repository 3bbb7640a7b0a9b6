package archtest

// The third-party libraries. docs/dependencies.md says why each was chosen.
const (
	bluemonday = "github.com/microcosm-cc/bluemonday"
	goldmark   = "github.com/yuin/goldmark"
	bbolt      = "go.etcd.io/bbolt"
	compress   = "github.com/klauspost/compress"
	crypto     = "golang.org/x/crypto"
	franz      = "github.com/twmb/franz-go"
	flags      = "github.com/peterbourgon/ff/v3"
	grpc       = "google.golang.org/grpc"
	gval       = "github.com/PaesslerAG/gval"
	jose       = "github.com/go-jose/go-jose/v4"
	jsongold   = "github.com/piprate/json-gold"
	jsonpath   = "github.com/PaesslerAG/jsonpath"
	mochi      = "github.com/mochi-mqtt/server/v2"
	minio      = "github.com/minio/minio-go/v7"
	otel       = "go.opentelemetry.io/otel"
	otelproto  = "go.opentelemetry.io/proto/otlp"
	oteltrace  = "go.opentelemetry.io/otel/trace"
	openapi    = "github.com/getkin/kin-openapi"
	mongo      = "go.mongodb.org/mongo-driver/v2"
	paho       = "github.com/eclipse/paho.golang"
	paho3      = "github.com/eclipse/paho.mqtt.golang"
	prometheus = "github.com/prometheus/client_golang"
	protobuf   = "google.golang.org/protobuf"
	rdf2go     = "github.com/deiu/rdf2go"
	roots      = "golang.org/x/crypto/x509roots/fallback"
	sarama     = "github.com/IBM/sarama"
	scram      = "github.com/xdg-go/scram"
	swgui      = "github.com/swaggest/swgui"
	sync       = "golang.org/x/sync"
	systemd    = "github.com/coreos/go-systemd/v22/daemon"
	testify    = "github.com/stretchr/testify"
	text       = "golang.org/x/text"
	uuid       = "github.com/google/uuid"
	mysql      = "github.com/go-sql-driver/mysql"
	pgx        = "github.com/jackc/pgx/v5"
	sqlite     = "modernc.org/sqlite"
	netlink    = "github.com/vishvananda/netlink"
	netns      = "github.com/vishvananda/netns"
	wazero     = "github.com/tetratelabs/wazero"
	wgctrl     = "golang.zx2c4.com/wireguard/wgctrl"
	wireguard  = "golang.zx2c4.com/wireguard"
	xmlquery   = "github.com/antchfx/xmlquery"
	xpath      = "github.com/antchfx/xpath"
	xz         = "github.com/ulikunitz/xz"
	yaml       = "go.yaml.in/yaml/v3"
)

// testModules are the libraries that any test file may import.
func testModules() []string {
	return []string{
		testify, sync, openapi, compress, crypto, protobuf,
		mochi, paho, paho3, sarama, franz, mongo, minio, otel,
		rdf2go, jsongold, jsonpath, xmlquery, netlink, netns, wazero,
	}
}

// features are the building blocks. None imports another, or a package below
// another, not even in a test.
func features() []string {
	return []string{"annotate", "flcollect", "modelrepo", "apimgmt", "multilink"}
}

// separation is a package that must not be linked into another, by any way.
type separation struct {
	dir    string   // folder, or "folder/..."
	except []string // folders below dir for which it does not hold
	bans   []string // import paths and everything below them
	own    []string // patterns of our packages
}

// separations says what must not be linked. The bans are prefixes of import
// paths; "." stands for any package outside the standard library.
func separations() []separation {
	drivers := []string{paho, paho3, mochi, sarama, franz, bbolt, mongo, minio, rdf2go, testify, "os/signal"}
	drivers = append(drivers, pgx, mysql, sqlite)
	evaluators := []string{jsonpath, gval, xmlquery}
	return []separation{
		{dir: "annotate", bans: drivers},
		{dir: "annotate", bans: []string{"net/http", prometheus, swgui}, own: []string{"storage/...", "internal/httpapi"}},
		{dir: "multilink", bans: []string{".", "net/http"}, own: []string{"storage/..."}},
		{dir: "multilink/node", bans: []string{".", "net/http"}, own: []string{"internal/httpapi"}},
		{dir: "annotate/manager", bans: drivers},
		{dir: "cmd/multilink", bans: []string{mongo, minio}},
		{dir: "annotate/manager", bans: []string{"net/http", prometheus, swgui}, own: []string{"internal/httpapi"}},
		{dir: "annotate/rml", bans: drivers},
		{dir: "modelrepo", bans: drivers},
		{dir: "modelrepo", bans: []string{prometheus}},
		{dir: "apimgmt", bans: []string{prometheus, swgui}, own: []string{"internal/httpapi"}},
		{dir: "annotate", bans: evaluators},
		{dir: "annotate/rml", bans: evaluators},
		{dir: "annotate", bans: []string{wazero}},
		{dir: "annotate/rml", bans: []string{wazero}},
		{dir: "annotate/rdf", bans: []string{"."}},
		{dir: "flcollect", bans: drivers},
		{dir: "flcollect", bans: []string{wazero, prometheus, swgui}, own: []string{"internal/httpapi", "internal/shell"}},
		{dir: "flcollect/repository", bans: []string{wazero}},
		{dir: "flcollect/strategy", bans: []string{"."}},
		{dir: "flcollect/strategy/pickle", bans: []string{"."}},
		{dir: "flcollect/tensor", bans: []string{"."}},
		{dir: "flcollect/dp", bans: []string{"."}},
		{dir: "storage", bans: []string{"."}},
		{dir: "annotate/mqtt", bans: []string{mochi, sarama, bbolt, mongo, testify}},
		{dir: "storage/disk", bans: []string{testify, "net/http"}},
		{
			dir: "cmd/...", except: []string{
				"cmd/internal/backup/backuptest", "cmd/internal/door/doortest", "cmd/internal/telemetry/telemetrytest",
			},
			bans: []string{testify},
		},
		{dir: "cmd/internal/backup", bans: []string{minio}},
	}
}
