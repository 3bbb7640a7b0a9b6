package archtest

// room is one row of the import table. The row with the longest pattern that
// means a folder is the one that holds for it.
type room struct {
	dir     string   // folder, or "folder/..." with everything below
	imports []string // our packages that its code may import, as patterns
	modules []string // path prefixes of third-party packages its code may import
}

// importTable lists what each package may import. Test files may also import all packages
// of ours except those of other features, and the modules of testModules.
func importTable() []room {
	return []room{
		{dir: "."},

		{dir: "storage", imports: []string{"internal/retry"}},
		{dir: "storage/lease", imports: []string{"storage"}},
		{dir: "storage/storagetest", imports: []string{"storage"}},
		{dir: "storage/mongo", imports: []string{"storage"}, modules: []string{mongo}},
		{dir: "storage/mongo/mongotest", imports: []string{"internal/peertest", "storage/mongo"}, modules: []string{mongo}},
		{dir: "storage/s3", imports: []string{"storage"}, modules: []string{minio}},
		{dir: "storage/s3/s3test", imports: []string{"internal/peertest", "storage/s3"}, modules: []string{minio}},
		{dir: "storage/disk", imports: []string{"storage"}, modules: []string{bbolt}},

		{dir: "annotate", imports: []string{"internal/notify", "internal/outbound", "internal/tracing", "annotate/rml", "annotate/rml/yarrrml",
			"annotate/rdf", "annotate/rdf/shacl"}, modules: []string{sync, uuid, oteltrace}},
		{dir: "annotate/members", imports: []string{"annotate"}},
		{dir: "annotate/manager", imports: []string{
			"annotate", "annotate/manager/internal/channelform", "annotate/manager/internal/fleet", "internal/history", "internal/keep",
			"storage",
		}},
		{dir: "annotate/manager/rest", imports: []string{
			"annotate", "annotate/manager", "annotate/manager/internal/channelform", "internal/exposition", "internal/httpapi", "storage",
		}},
		{dir: "annotate/manager/page", imports: []string{
			"annotate", "annotate/manager", "annotate/manager/internal/channelform", "annotate/manager/internal/locate",
			"annotate/manager/rest", "annotate/rdf", "annotate/rdf/shacl", "annotate/rml", "annotate/rml/suggest", "internal/editor",
			"internal/form", "internal/graph", "internal/httpapi", "internal/shell",
		}},
		{dir: "annotate/manager/internal/channelform", imports: []string{"annotate", "annotate/members"}},
		{dir: "annotate/manager/internal/managertest", imports: []string{"annotate", "annotate/kafka", "annotate/manager",
			"annotate/mqtt", "storage"}, modules: []string{testify}},
		{dir: "annotate/manager/internal/fleet", imports: []string{"internal/notify", "storage"}},
		{dir: "annotate/manager/internal/locate"},
		{dir: "annotate/internal/xsd"},
		{dir: "annotate/internal/option"},
		{dir: "annotate/rdf"},
		{dir: "annotate/rdf/shacl", imports: []string{"annotate/internal/xsd", "annotate/rdf"}},
		{dir: "annotate/rdf/rdftest", imports: []string{"annotate/rdf"}},
		{dir: "annotate/rdf/rdf2go", imports: []string{"annotate/rdf"}, modules: []string{rdf2go}},
		{dir: "annotate/rml", imports: []string{"annotate/internal/xsd", "annotate/rdf", "annotate/rml/internal/..."},
			modules: []string{text, xz}},
		{dir: "annotate/rml/suggest"},
		{dir: "annotate/rml/yarrrml", imports: []string{"annotate/rdf", "annotate/rml", "annotate/rml/internal/document"},
			modules: []string{yaml}},
		{dir: "annotate/rml/paessler", imports: []string{"annotate/rml"}, modules: []string{jsonpath, gval}},
		{dir: "annotate/rml/antchfx", imports: []string{"annotate/rml"}, modules: []string{xmlquery, xpath}},
		{dir: "annotate/rml/internal/...", imports: []string{"annotate/rml/internal/..."}},
		{dir: "annotate/rml/internal/document", imports: []string{"annotate/rdf"}},
		{dir: "annotate/rml/internal/escape", imports: []string{"annotate/rdf"}, modules: []string{text}},
		{dir: "annotate/rml/internal/function", imports: []string{
			"annotate/internal/xsd", "annotate/rdf",
		}, modules: []string{text}},
		{dir: "annotate/rml/internal/xmldoc", imports: []string{"annotate/rml/internal/..."},
			modules: []string{text}},
		{dir: "annotate/rml/internal/xpath", modules: []string{text}},
		{dir: "annotate/rml/internal/jsondoc", imports: []string{"annotate/rml/internal/..."}},
		{dir: "annotate/rml/internal/rowdoc", imports: []string{"annotate/rml/internal/input"}},
		{dir: "annotate/rml/wasm", imports: []string{"annotate/rdf", "annotate/rml", "internal/wasmfuel"}, modules: []string{wazero}},
		{dir: "annotate/rml/web", imports: []string{"annotate/internal/option", "annotate/rml", "internal/httpclient"}},
		{dir: "annotate/rml/internal/resultset", imports: []string{"annotate/rdf"}},
		{dir: "annotate/rml/relational", imports: []string{"annotate/internal/xsd", "annotate/rml"}},
		{dir: "annotate/rml/relational/sqlite", imports: []string{"annotate/rml/relational"}, modules: []string{sqlite}},
		{dir: "annotate/rml/relational/postgres", imports: []string{"annotate/rml/relational"}, modules: []string{pgx}},
		{dir: "annotate/rml/relational/mysql", imports: []string{"annotate/rml/relational"}, modules: []string{mysql}},
		{dir: "annotate/rml/relational/relationaltest", imports: []string{
			"annotate/rdf", "annotate/rdf/rdftest", "annotate/rml", "annotate/rml/relational", "internal/conformance",
		}, modules: []string{testify}},
		{dir: "annotate/brokertest", imports: []string{"annotate"}},
		{dir: "annotate/mqtt", imports: []string{
			"annotate", "annotate/internal/option", "annotate/members", "annotate/mqtt/internal/...",
		}, modules: []string{paho, uuid}},
		{dir: "annotate/mqtt/internal/mqtt3", imports: []string{"annotate", "annotate/mqtt/internal/..."},
			modules: []string{paho3}},
		{dir: "annotate/mqtt/internal/...", imports: []string{"internal/notify", "internal/tracing", "annotate", "internal/retry"}},
		{dir: "annotate/mqtt/embedded", modules: []string{mochi}},
		{dir: "annotate/mqtt/mqtttest", imports: []string{"annotate", "annotate/mqtt", "annotate/mqtt/embedded", "internal/peertest"}},
		{dir: "annotate/kafka", imports: []string{
			"internal/notify", "internal/tracing", "annotate", "annotate/internal/option", "annotate/members", "internal/retry",
		},
			modules: []string{sarama, scram, uuid}},
		{dir: "annotate/internal/sink", imports: []string{"internal/notify", "annotate", "internal/retry"}},
		{dir: "annotate/internal/endpoint", imports: []string{"internal/httpclient", "internal/tracing", "annotate"}},
		{dir: "annotate/sparql", imports: []string{
			"annotate", "annotate/internal/endpoint", "annotate/internal/option", "annotate/internal/sink", "annotate/members", "annotate/rdf",
		}},
		{dir: "annotate/ngsild", imports: []string{
			"internal/httpclient", "annotate", "annotate/internal/endpoint", "annotate/internal/option", "annotate/internal/sink",
			"annotate/members", "annotate/rdf",
		}},
		{dir: "annotate/kafka/kafkatest", imports: []string{
			"annotate", "annotate/kafka", "annotate/mqtt/mqtttest", "internal/peertest",
		}, modules: []string{franz, testify}},

		{dir: "modelrepo", imports: []string{"internal/keep", "internal/tracing", "storage", "storage/lease", "modelrepo/internal/...",
			"modelrepo/oci"}, modules: []string{uuid, oteltrace}},
		{dir: "modelrepo/client", imports: []string{"internal/httpclient", "modelrepo", "modelrepo/internal/...", "storage"}},
		{dir: "modelrepo/rest", imports: []string{
			"internal/exposition", "internal/httpapi", "modelrepo", "modelrepo/internal/...",
		}},
		{dir: "modelrepo/page", imports: []string{
			"internal/form", "internal/httpapi", "internal/shell", "modelrepo", "modelrepo/internal/web", "modelrepo/rest",
		}},
		{dir: "modelrepo/oci"},
		{dir: "modelrepo/internal/archive", imports: []string{"modelrepo/oci"}},
		{dir: "modelrepo/internal/cleanup"},
		{dir: "modelrepo/internal/clock"},
		{dir: "modelrepo/internal/docpages", imports: []string{"modelrepo/internal/cleanup", "storage"},
			modules: []string{bluemonday, goldmark}},
		{dir: "modelrepo/internal/integrity", imports: []string{
			"internal/notify", "modelrepo/internal/cleanup", "modelrepo/internal/clock", "modelrepo/internal/transfer", "storage",
			"storage/lease",
		}},
		{dir: "modelrepo/internal/transfer"},
		{dir: "modelrepo/internal/tus", imports: []string{
			"internal/keep", "modelrepo/internal/cleanup", "modelrepo/internal/transfer", "storage",
		}, modules: []string{uuid}},
		{dir: "modelrepo/internal/web", imports: []string{
			"internal/httpapi", "modelrepo", "modelrepo/internal/docpages", "modelrepo/internal/wire", "storage",
		}},
		{dir: "modelrepo/internal/webhook", imports: []string{
			"internal/keep", "internal/outbound", "internal/notify", "internal/tracing", "modelrepo/internal/cleanup",
			"modelrepo/internal/clock", "storage", "storage/lease", "internal/retry",
		}, modules: []string{uuid}},
		{dir: "modelrepo/internal/wire", imports: []string{"modelrepo", "modelrepo/internal/tus"}},
		{dir: "modelrepo/modelrepotest", imports: []string{"modelrepo", "modelrepo/rest", "storage"},
			modules: []string{testify}},

		{dir: "flcollect", imports: []string{"internal/notify", "internal/tracing",
			"flcollect/ckks", "flcollect/dp", "flcollect/flower", "flcollect/internal/...", "flcollect/jobconfig",
			"flcollect/publiccontext", "flcollect/report", "flcollect/strategy", "flcollect/supernode", "flcollect/tensor",
			"storage", "storage/lease",
		}, modules: []string{oteltrace, uuid}},
		{dir: "flcollect/internal/group", imports: []string{
			"flcollect/flower", "flcollect/internal/checkpoint", "flcollect/internal/contextstore", "flcollect/internal/fleet",
			"flcollect/internal/job", "flcollect/internal/persist", "flcollect/internal/round", "flcollect/internal/upstream",
			"flcollect/report", "storage", "storage/lease",
		}},
		{dir: "flcollect/internal/job", imports: []string{"internal/keep", "internal/tracing",
			"flcollect/ckks", "flcollect/dp", "flcollect/flower", "flcollect/internal/audit", "flcollect/internal/checkpoint",
			"flcollect/internal/contextstore", "flcollect/internal/excerpt", "flcollect/internal/persist",
			"flcollect/internal/reputation", "flcollect/internal/round", "flcollect/internal/tiers", "flcollect/internal/upstream",
			"flcollect/jobconfig", "flcollect/publiccontext", "flcollect/record", "flcollect/report", "flcollect/strategy",
			"flcollect/supernode", "flcollect/tensor", "storage",
		}},
		{dir: "flcollect/rest", imports: []string{
			"flcollect", "flcollect/ckks", "flcollect/flower", "flcollect/internal/...", "flcollect/jobconfig",
			"flcollect/publiccontext", "flcollect/report", "flcollect/strategy", "flcollect/tensor",
			"internal/exposition", "internal/httpapi", "storage",
		}},
		{dir: "flcollect/page", imports: []string{
			"flcollect", "flcollect/dp", "flcollect/internal/...", "flcollect/jobconfig", "flcollect/report",
			"flcollect/rest", "flcollect/strategy", "internal/httpapi", "internal/shell",
		}},
		{dir: "flcollect/internal/view", imports: []string{"flcollect", "flcollect/jobconfig", "flcollect/report"}},
		{dir: "flcollect/internal/detail", imports: []string{
			"flcollect", "flcollect/ckks", "flcollect/dp", "flcollect/jobconfig", "flcollect/secagg", "flcollect/strategy",
		}},
		{dir: "flcollect/internal/jobstest", imports: []string{
			"flcollect", "flcollect/jobconfig", "flcollect/publiccontext", "flcollect/report", "flcollect/strategy", "storage",
		}, modules: []string{testify}},
		{dir: "flcollect/repository", imports: []string{
			"flcollect", "flcollect/strategy", "flcollect/tensor", "internal/exposition",
			"internal/httpapi", "internal/httpclient", "internal/keep", "storage", "storage/lease",
		}},
		{dir: "flcollect/repository/repositorytest", imports: []string{
			"flcollect", "flcollect/report", "flcollect/strategy", "flcollect/tensor",
		}, modules: []string{testify}},
		{dir: "flcollect/orchestrator", imports: []string{"flcollect", "flcollect/report", "internal/httpclient"}},
		{dir: "flcollect/tensor"},
		{dir: "flcollect/internal/conf"},
		{dir: "flcollect/internal/excerpt"},
		{dir: "flcollect/internal/fleet", imports: []string{"flcollect/report", "storage", "storage/lease"}},
		{dir: "flcollect/internal/persist", imports: []string{"storage", "internal/retry"}},
		{dir: "flcollect/jobconfig", imports: []string{
			"flcollect/ckks", "flcollect/compress", "flcollect/dp", "flcollect/secagg", "flcollect/strategy", "storage",
		}},
		{dir: "flcollect/internal/jobform", imports: []string{
			"flcollect", "flcollect/dp", "flcollect/jobconfig", "flcollect/strategy", "internal/form",
		}},
		{dir: "flcollect/internal/checkpoint", imports: []string{
			"flcollect/internal/persist", "flcollect/strategy", "flcollect/tensor", "storage",
		}, modules: []string{uuid}},
		{dir: "flcollect/internal/contextstore", imports: []string{
			"flcollect/ckks", "flcollect/jobconfig", "flcollect/publiccontext", "flcollect/internal/persist", "storage",
		}, modules: []string{uuid}},
		{dir: "flcollect/internal/reputation", imports: []string{
			"flcollect/internal/excerpt", "flcollect/internal/persist", "flcollect/report", "internal/keep", "storage",
		}},
		{dir: "flcollect/internal/audit", imports: []string{
			"flcollect/flower", "flcollect/internal/excerpt", "flcollect/internal/persist",
			"flcollect/internal/reputation", "flcollect/report", "flcollect/strategy", "flcollect/tensor", "storage",
		}},
		{dir: "flcollect/internal/round", imports: []string{"internal/notify", "internal/tracing",
			"flcollect/ckks", "flcollect/compress", "flcollect/dp", "flcollect/flower", "flcollect/internal/audit",
			"flcollect/internal/excerpt", "flcollect/internal/persist", "flcollect/internal/reputation",
			"flcollect/internal/tiers", "flcollect/internal/upstream", "flcollect/record", "flcollect/report", "flcollect/secagg",
			"flcollect/strategy", "flcollect/tensor",
		}},
		{dir: "flcollect/publiccontext"},
		{dir: "flcollect/report", imports: []string{"storage"}},
		{dir: "flcollect/internal/tiers"},
		{dir: "flcollect/internal/upstream", imports: []string{
			"flcollect/flower", "flcollect/internal/excerpt", "flcollect/strategy",
		}},
		{dir: "flcollect/strategy", imports: []string{"flcollect/internal/conf", "flcollect/tensor"}},
		{dir: "flcollect/strategy/strategytest", imports: []string{
			"flcollect/strategy", "flcollect/tensor",
		}, modules: []string{testify}},
		{dir: "flcollect/strategy/wasm", imports: []string{"flcollect/strategy", "flcollect/tensor", "internal/wasmfuel"},
			modules: []string{wazero}},
		{dir: "flcollect/strategy/pickle", imports: []string{"flcollect/strategy", "flcollect/tensor"}},
		{dir: "flcollect/compress", imports: []string{"flcollect/flower", "flcollect/tensor"}},
		{dir: "flcollect/supernode", imports: []string{"flcollect/flower", "flcollect/internal/wire", "flcollect/record"},
			modules: []string{grpc, protobuf}},
		{dir: "flcollect/supernode/supernodetest", imports: []string{"flcollect/flower", "flcollect/internal/wire", "flcollect/record"},
			modules: []string{protobuf}},
		{dir: "flcollect/secagg", imports: []string{"flcollect/tensor"}, modules: []string{sync}},
		{dir: "flcollect/dp", imports: []string{"flcollect/internal/conf", "flcollect/strategy", "flcollect/tensor"}},
		{dir: "flcollect/internal/wire", modules: []string{protobuf}},
		{dir: "flcollect/record", imports: []string{"flcollect/flower", "flcollect/internal/wire", "flcollect/tensor"},
			modules: []string{protobuf}},
		{dir: "flcollect/flower", imports: []string{"flcollect/internal/wire", "flcollect/tensor", "internal/retry"},
			modules: []string{grpc, protobuf}},
		{dir: "flcollect/ckks", imports: []string{"flcollect/strategy", "flcollect/tensor"},
			modules: []string{compress, crypto}},

		{dir: "apimgmt", imports: []string{
			"apimgmt/definition", "apimgmt/entity", "internal/keep", "internal/outbound", "storage", "storage/lease",
		}, modules: []string{uuid}},
		{dir: "apimgmt/client", imports: []string{"apimgmt", "apimgmt/internal/wire", "internal/httpapi", "internal/httpclient"}},
		{dir: "apimgmt/rest", imports: []string{
			"apimgmt", "apimgmt/definition", "apimgmt/internal/wire", "apimgmt/oidc", "internal/exposition", "internal/httpapi", "storage",
		}},
		{dir: "apimgmt/portal", imports: []string{
			"apimgmt", "apimgmt/definition", "apimgmt/internal/cookies", "apimgmt/internal/document", "apimgmt/internal/wire",
			"apimgmt/oidc", "apimgmt/rest", "internal/httpapi", "internal/look", "internal/shell", "storage",
		}, modules: []string{bluemonday, goldmark, swgui}},
		{dir: "apimgmt/gatewaytest", imports: []string{"apimgmt", "apimgmt/entity"}, modules: []string{testify}},
		{dir: "apimgmt/position"},
		{dir: "apimgmt/entity", imports: []string{"apimgmt/internal/document"}, modules: []string{uuid}},
		{dir: "apimgmt/gateway", imports: []string{
			"apimgmt/entity", "apimgmt/gateway/internal/...", "internal/outbound", "internal/tracing",
		}, modules: []string{oteltrace, prometheus}},
		{dir: "apimgmt/gateway/internal/...", imports: []string{"apimgmt/entity", "apimgmt/internal/urlpath"}},
		{dir: "apimgmt/gateway/plugin", imports: []string{
			"apimgmt/gateway", "apimgmt/internal/document", "apimgmt/oidc", "apimgmt/position", "internal/clientaddr", "internal/notify", "storage",
		}, modules: []string{crypto, openapi, prometheus}},
		{dir: "apimgmt/gateway/plugintest", imports: []string{"apimgmt/entity", "apimgmt/gateway"},
			modules: []string{testify}},
		{dir: "apimgmt/gateway/admin", imports: []string{
			"apimgmt/entity", "apimgmt/gateway", "apimgmt/internal/cookies", "apimgmt/internal/password", "apimgmt/position",
			"internal/access", "internal/clientaddr", "internal/exposition", "internal/form", "internal/history", "internal/httpapi",
			"internal/keep", "internal/shell", "storage",
		}, modules: []string{prometheus, uuid}},
		{dir: "apimgmt/gateway/follow", imports: []string{
			"apimgmt/entity", "apimgmt/gateway", "apimgmt/gateway/admin", "internal/httpclient", "internal/secretfile",
		}, modules: []string{prometheus}},
		{dir: "apimgmt/definition", imports: []string{
			"apimgmt/entity", "apimgmt/internal/document", "apimgmt/internal/urlpath", "apimgmt/position",
		}, modules: []string{openapi}},
		{dir: "apimgmt/internal/apitest", imports: []string{"apimgmt", "apimgmt/oidc", "apimgmt/rest", "storage"},
			modules: []string{testify}},
		{dir: "apimgmt/internal/cookies"},
		{dir: "apimgmt/internal/document", imports: []string{"apimgmt/position"}, modules: []string{yaml}},
		{dir: "apimgmt/kong", imports: []string{
			"apimgmt/entity", "apimgmt/internal/document", "internal/httpclient", "internal/retry",
		}, modules: []string{uuid}},
		{dir: "apimgmt/internal/urlpath"},
		{dir: "apimgmt/internal/wire", imports: []string{"apimgmt"}},
		{dir: "apimgmt/internal/password", modules: []string{crypto}},
		{dir: "apimgmt/oidc", modules: []string{jose}},
		{dir: "apimgmt/oidc/devidp", imports: []string{
			"apimgmt/internal/password", "internal/httpapi", "internal/keep", "storage",
		}, modules: []string{jose, uuid}},
		{dir: "apimgmt/oidc/oidctest", imports: []string{"apimgmt/oidc"}, modules: []string{testify}},

		{dir: "multilink", imports: []string{"multilink/internal/...", "multilink/settings", "multilink/status"}},
		{dir: "multilink/settings", imports: []string{"multilink/internal/fault"}},
		{dir: "multilink/status", imports: []string{"multilink/settings"}},
		{dir: "multilink/memory", imports: []string{"multilink", "multilink/settings"}},
		{dir: "multilink/internal/fault"},
		{dir: "multilink/internal/packet", imports: []string{"multilink/settings"}},
		{dir: "multilink/internal/pathmtu"},
		{dir: "multilink/internal/ethernet", imports: []string{"multilink/internal/fault", "multilink/settings"}},
		{dir: "multilink/internal/scheduler", imports: []string{"multilink/internal/packet", "multilink/settings"}},
		{dir: "multilink/internal/bond", imports: []string{
			"multilink/internal/fault", "multilink/internal/packet", "multilink/internal/pathmtu", "multilink/settings", "multilink/status",
		}},
		{dir: "multilink/linktest", imports: []string{"multilink"}},
		{dir: "multilink/wg", imports: []string{"multilink", "multilink/settings"},
			modules: []string{wireguard, "golang.org/x/sys"}},
		{dir: "multilink/host", imports: []string{"multilink", "multilink/settings"},
			modules: []string{netlink, "golang.org/x/sys"}},
		{dir: "multilink/kernel", imports: []string{"multilink", "multilink/internal/pathmtu", "multilink/settings", "multilink/status"},
			modules: []string{netlink, wgctrl, "golang.org/x/sys"}},
		{dir: "multilink/node", imports: []string{
			"multilink", "multilink/settings", "multilink/status", "multilink/node/internal/...", "internal/history", "storage",
		}},
		{dir: "multilink/node/internal/fault"},
		{dir: "multilink/node/internal/events", imports: []string{"multilink/status"}},
		{dir: "multilink/node/internal/desired", imports: []string{
			"multilink", "multilink/settings", "multilink/node/internal/fault", "internal/keep", "storage",
		}},
		{dir: "multilink/node/internal/view", imports: []string{
			"multilink", "multilink/settings", "multilink/status", "multilink/node/internal/desired",
		}},
		{dir: "multilink/node/internal/nodetest", imports: []string{
			"multilink", "multilink/status", "multilink/node", "multilink/node/rest", "storage",
		}, modules: []string{testify}},
		{dir: "multilink/node/rest", imports: []string{
			"multilink", "multilink/status", "multilink/node", "multilink/node/internal/...",
			"internal/access", "internal/exposition", "internal/httpapi", "internal/secretfile", "storage",
		}},
		{dir: "multilink/node/page", imports: []string{
			"multilink/settings", "multilink/status", "multilink/node", "multilink/node/internal/...", "multilink/node/rest",
			"internal/access", "internal/form", "internal/httpapi", "internal/shell",
		}},

		{dir: "internal/httpapi", imports: []string{"internal/look", "internal/tracing"}, modules: []string{swgui, uuid}},
		{dir: "internal/shell", imports: []string{"internal/form", "internal/history", "internal/httpapi", "internal/look", "internal/uplot"}},
		{dir: "internal/access", imports: []string{"internal/clientaddr", "internal/httpapi", "internal/look"}},
		{dir: "internal/exposition", imports: []string{"internal/httpapi"}, modules: []string{prometheus}},
		{dir: "internal/httpapi/httpapitest", imports: []string{"internal/httpapi"}, modules: []string{testify}},
		{dir: "internal/httpclient", imports: []string{"internal/tracing"}},
		{dir: "internal/clientaddr"},
		{dir: "internal/cli"},
		{dir: "internal/server", imports: []string{
			"internal/clientaddr", "internal/cli", "internal/httpapi", "internal/tracing", "internal/version",
		}, modules: []string{flags, oteltrace, systemd}},
		{dir: "internal/server/servertest", imports: []string{"internal/cli", "internal/version"}, modules: []string{prometheus, testify}},
		{dir: "cmd/internal/host", imports: []string{
			"cmd/internal/backup", "cmd/internal/console", "cmd/internal/datafolder", "cmd/internal/door", "cmd/internal/overview",
			"cmd/internal/stores", "cmd/internal/telemetry", "internal/cli", "internal/server", "storage/disk",
		}},
		{dir: "cmd/internal/annotation", imports: []string{
			"annotate/...", "cmd/internal/console", "cmd/internal/host", "cmd/internal/mappingfunctions", "cmd/internal/overview",
			"internal/cli", "internal/outbound", "internal/secretfile", "internal/server", "internal/version", "storage",
		}},
		{dir: "cmd/internal/models", imports: []string{
			"cmd/internal/console", "cmd/internal/host", "cmd/internal/overview", "internal/server", "internal/version", "modelrepo/...",
		}},
		{dir: "cmd/internal/collector", imports: []string{
			"flcollect/...", "cmd/internal/console", "cmd/internal/host", "cmd/internal/overview", "internal/access", "internal/cli",
			"internal/httpapi", "internal/server", "internal/version", "internal/wasmfuel", "storage",
		}},
		{dir: "cmd/internal/management", imports: []string{
			"apimgmt/...", "cmd/internal/console", "cmd/internal/door", "cmd/internal/host", "cmd/internal/overview",
			"cmd/internal/sharedsecret", "internal/access", "internal/cli", "internal/exposition", "internal/httpapi", "internal/keep",
			"internal/secretfile", "internal/server", "storage",
		}, modules: []string{oteltrace, prometheus}},
		{dir: "cmd/internal/mappingfunctions", imports: []string{"annotate/rml", "annotate/rml/wasm"}},
		{dir: "cmd/internal/stores", imports: []string{
			"cmd/internal/backup", "cmd/internal/datafolder", "cmd/internal/door", "internal/cli", "internal/server", "storage", "storage/disk",
		}},
		{dir: "cmd/internal/stores/drivers", imports: []string{
			"cmd/internal/stores", "internal/cli", "storage", "storage/mongo", "storage/s3",
		}},
		{dir: "cmd/internal/sharedsecret", imports: []string{"internal/secretfile"}},
		{dir: "cmd/internal/session", imports: []string{"internal/access", "storage"}},
		{dir: "cmd/internal/datafolder", imports: []string{"storage", "storage/disk"}},
		{dir: "cmd/internal/door/doortest", imports: []string{
			"apimgmt/oidc/devidp", "internal/server", "internal/server/servertest", "storage",
		}, modules: []string{testify}},
		{dir: "cmd/internal/door", imports: []string{
			"apimgmt/oidc", "cmd/internal/session", "cmd/internal/sharedsecret",
			"internal/access", "internal/cli", "internal/httpapi", "internal/secretfile", "internal/server",
			"internal/shell", "storage",
		}, modules: []string{roots}},
		{dir: "cmd/internal/backup", imports: []string{"cmd/internal/datafolder", "internal/server", "internal/version", "storage/disk"}},
		{dir: "cmd/internal/backup/transfer", imports: []string{
			"cmd/internal/backup", "cmd/internal/datafolder", "internal/cli", "storage", "storage/disk", "storage/s3",
		}},
		{dir: "cmd/internal/backup/backuptest", imports: []string{
			"cmd/internal/backup", "cmd/internal/backup/transfer", "storage/disk",
		}, modules: []string{testify}},
		{dir: "cmd/internal/telemetry", imports: []string{"internal/httpclient", "internal/server", "internal/version", "internal/retry"},
			modules: []string{otel, otelproto, protobuf}},
		{dir: "cmd/internal/telemetry/telemetrytest", modules: []string{otelproto, protobuf, testify}},
		{dir: "cmd/internal/overview", imports: []string{"internal/httpapi", "internal/shell"}},
		{dir: "cmd/internal/console", imports: []string{"internal/httpapi", "internal/shell"}},
		{dir: "cmd/internal/demo", imports: []string{
			"annotate", "annotate/manager", "annotate/mqtt", "examples/weather",
		}, modules: []string{uuid}},
		{dir: "cmd/internal/demo/training", imports: []string{
			"flcollect", "flcollect/flower", "flcollect/jobconfig", "flcollect/report", "flcollect/strategy", "examples/tumours",
		}, modules: []string{sync}},
		{dir: "cmd/internal/demo/bonding", imports: []string{
			"cmd/internal/demo/pair", "internal/netlab", "internal/server", "multilink/...",
		}},
		{dir: "cmd/internal/demo/tour", imports: []string{"apimgmt", "modelrepo", "multilink/memory"}},
		{dir: "cmd/internal/demo/pair", imports: []string{"multilink/...", "storage"}},
		{dir: "internal/archtest"},
		{dir: "internal/editor"},
		{dir: "internal/form"},
		{dir: "internal/graph"},
		{dir: "internal/history"},
		{dir: "internal/keep"},
		{dir: "internal/look"},
		{dir: "internal/notify"},
		{dir: "internal/outbound"},
		{dir: "internal/netlab", modules: []string{netlink, netns}},
		{dir: "internal/retry"},
		{dir: "internal/secretfile"},
		{dir: "internal/uplot"},
		{dir: "internal/tracing", modules: []string{otel}},
		{dir: "internal/version"},
		{dir: "internal/wasmfuel"},
		{dir: "internal/conformance"},
		{dir: "internal/peertest"},

		{dir: "cmd/...", imports: []string{"..."}, modules: []string{mochi}},
		{dir: "examples/...", imports: []string{
			"annotate/...", "apimgmt/...", "flcollect/...", "modelrepo/...", "multilink/...", "storage/...",
			"examples/...",
		}, modules: []string{sync}},
		{dir: "test/multilink/vm/...", imports: []string{
			"internal/peertest", "multilink/...", "storage", "test/multilink/vm/...",
		}, modules: []string{"golang.org/x/sys"}},
		{dir: "test/interop", imports: []string{"internal/peertest"}, modules: []string{testify}},
		{dir: "test/interop/load", imports: []string{
			"annotate", "flcollect", "flcollect/...", "storage", "storage/mongo", "storage/s3", "storage/s3/s3test",
		}, modules: []string{testify}},
		{dir: "test/peers", imports: []string{"internal/peertest", "storage/mongo/mongotest", "storage/s3/s3test"}},
		{dir: "test/upgrade", imports: []string{"storage", "storage/disk"}, modules: []string{testify}},
		{dir: "test/...", imports: []string{"..."}},
	}
}
