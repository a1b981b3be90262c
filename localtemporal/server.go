package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"

	"github.com/millrace-dev/millrace/localtemporal/datastore"
)

// settings are the values of tuning, except for the interval of reading namespaces, which grows once the server has its own namespace.
type settings struct {
	dynamicconfig.StaticClient
	settled atomic.Bool
}

// GetValue implements dynamicconfig.Client.
func (s *settings) GetValue(key dynamicconfig.Key) []dynamicconfig.ConstrainedValue {
	if key == dynamicconfig.NamespaceCacheRefreshInterval.Key() && s.settled.Load() {
		return []dynamicconfig.ConstrainedValue{{Value: settledRefresh}}
	}
	return s.StaticClient.GetValue(key)
}

// tuning contains the settings for a small server; each replaces a default for large clusters.
func tuning() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// One partition: with four, a lone task may wait for the forwarder, which moves ten a second.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// Queued tasks are distributed by fairness key, which is the account: an account with thousands of tasks does not
		// delay another account.
		dynamicconfig.MatchingEnableFairness.Key(): true,
		// Polls per shard and second; the default of 20 puts 50 ms between two tasks of one shard.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():     200,
		dynamicconfig.TransferProcessorMaxPollHostRPS.Key(): 5000,
		// Under load, a shard waits a quarter of a second after a read before it writes the next entries to the list of
		// workflows. By then a short workflow has ended, so it is written to the list once, with its end. The first entries
		// do not wait.
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 4,
		// Writes of one shard at a time, by default one. A task for a waiting worker must be written within a second, or it
		// starts over: with slow commits one after the other, tasks of a busy shard would start over for minutes.
		dynamicconfig.ShardIOConcurrency.Key(): 8,
		// How long one write may take. After a failed write, by default after five seconds, the shard reads its state again, and all its tasks
		// fail until then. On a busy machine, a database that stalls for longer would cause this repeatedly.
		dynamicconfig.ShardIOTimeout.Key(): 30 * time.Second,
		// Tasks under way at a time, by default 512 of each kind. A task must end within three seconds or it starts over: on a busy machine,
		// hundreds that share the processors and the connections of the database would all start over, for minutes.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():   32,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():      16,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key(): 16,
		// Finished tasks are kept in memory until acknowledged; the default of 30 s makes each look-up long.
		dynamicconfig.TransferProcessorUpdateAckInterval.Key():   time.Second,
		dynamicconfig.VisibilityProcessorUpdateAckInterval.Key(): 2 * time.Second,
		dynamicconfig.TimerProcessorUpdateAckInterval.Key():      2 * time.Second,
		dynamicconfig.OutboundProcessorUpdateAckInterval.Key():   10 * time.Second,
		// A timer of which its shard got no notice, because the shard was read again while the timer was written, fires at the next read of the
		// database, by default within six minutes. The job of a workflow task that timed out would wait that long.
		dynamicconfig.TimerProcessorMaxPollInterval.Key(): 30 * time.Second,
		// At each of these, every task queue also looks for tasks of which it got no notice, because PostgreSQL went away while
		// they were written: after an outage, jobs wait as long.
		dynamicconfig.MatchingUpdateAckInterval.Key(): 5 * time.Second,
		// A lost wake-up of a waiting client costs one interval; the default is 20 s.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,
		// From its fourth attempt on, a workflow task waits increasingly long, up to ten minutes: a workflow that several
		// restarts in a row have interrupted would wait that long after the next one.
		dynamicconfig.WorkflowTaskRetryMaxInterval.Key(): 2 * time.Second,
		// No payload is stored outside the history. Looking for such payloads in each event costs a twelfth of the server's processor time.
		dynamicconfig.ExternalPayloadsEnabled.Key(): false,
		// Caches for one machine. Closed workflows would stay in memory for an hour, up to 128,000 of them.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():     2_000,
		dynamicconfig.HistoryCacheTTL.Key():                  time.Minute,
		dynamicconfig.EventsHostLevelCacheMaxSizeBytes.Key(): 16 << 20,
		// Limits meant to protect a shared cluster.
		dynamicconfig.FrontendRPS.Key():                                  50_000,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():           50_000,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 1_000,
		dynamicconfig.MatchingRPS.Key():                                  50_000,
		dynamicconfig.HistoryRPS.Key():                                   50_000,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    50_000,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                    50_000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     50_000,
	}
}

// settledRefresh is how often each of the four services reads all namespaces, to learn of new ones, once the namespace of this
// server is there. By default it is two seconds.
const settledRefresh = 30 * time.Second

// servicesStart is slightly less than the time for which the parent process waits for this one.
const servicesStart = 4 * time.Minute

// shards is the number of shards of the history. It can never change for a database.
const shards = 4

// startServer starts the four services and returns a function that stops them.
func startServer(o options, values *settings, logger log.Logger) (stop func(), err error) {
	ports, err := o.ports()
	if err != nil {
		return nil, err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(o.serverConfig(ports)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(logger),
		temporal.WithDynamicConfigClient(values),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithCustomDataStoreFactory(datastore.Opener{Database: *o.sql(o.database)}),
		temporal.WithStaticHosts(map[primitives.ServiceName]static.Hosts{
			primitives.FrontendService: static.SingleLocalHost(o.frontend),
			primitives.HistoryService:  static.SingleLocalHost(loopback(ports[0])),
			primitives.MatchingService: static.SingleLocalHost(loopback(ports[1])),
			primitives.WorkerService:   static.SingleLocalHost(loopback(ports[2])),
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("configure the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	return func() {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "millrace-temporal: stop: "+err.Error())
		}
	}, nil
}

func (o options) serverConfig(ports []int) *config.Config {
	host, port, _ := net.SplitHostPort(o.frontend)
	frontendPort, _ := strconv.Atoi(port)
	service := func(port, membership int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: membership, BindOnIP: "127.0.0.1"}}
	}
	frontend := service(frontendPort, ports[3])
	frontend.RPC.BindOnIP = host
	return &config.Config{
		// The services may take twice as long to start. By default they have 15 s, after which the process ends: on a machine
		// that is busy for longer, it would restart again and again.
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: servicesStart / 2}, PProf: config.PProf{Host: "127.0.0.1", Port: o.profiles},
		},
		Persistence: config.Persistence{
			DefaultStore: "main", VisibilityStore: "visibility", NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{
				"main":       {CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: "main", IndexName: o.database}}, // datastore.Opener
				"visibility": {SQL: o.listSQL()},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: o.frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": frontend,
			"history":  service(ports[0], ports[4]),
			"matching": service(ports[1], ports[5]),
			"worker":   service(ports[2], ports[6]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		PublicClient: config.PublicClient{HostPort: o.frontend},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
}

func (o options) sql(database string) *config.SQL {
	return &config.SQL{
		User: o.postgresUser, Password: os.Getenv("PGPASSWORD"), PluginName: plugin, DatabaseName: database,
		ConnectAddr: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.postgresPort)), ConnectProtocol: "tcp",
		Connect: open, ConnectAttributes: o.attributes(), MaxConns: o.maxConns, MaxIdleConns: o.maxConns, MaxConnLifetime: time.Hour,
	}
}

// listSQL is sql of the list of workflows. Its commits do not wait for the disk: each is made for a task of the main database, which is
// deleted later. Both databases share one log, of which a crash of the machine loses only the end: if the commit is lost, so is the later
// deletion, and the server does the task again.
func (o options) listSQL() *config.SQL {
	list := o.sql(o.database + "_visibility")
	list.ConnectAttributes["synchronous_commit"] = "off"
	return list
}

// innerPorts is the number of inner ports: three for services and four for membership listeners.
const innerPorts = 7

// ports returns the inner ports: a given range, or free ports, which are held open together so that they differ.
func (o options) ports() ([]int, error) {
	ports := make([]int, innerPorts)
	for i := range ports {
		if o.basePort != 0 {
			ports[i] = o.basePort + i
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
