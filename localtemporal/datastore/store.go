// Package datastore reduces the work of the server's main database if one server alone uses it. Acknowledged writes are
// as durable as with the server's own stores: a history and the state of its workflow are written in one synchronous
// commit. A read that could only return the last write of this process is answered from memory. The package delegates
// to the server's own stores, whose statements and schema it does not change.
package datastore

import (
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/client"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/resolver"
)

// Opener opens the stores of each service of the server in a database.
type Opener struct {
	Database config.SQL
}

var _ client.AbstractDataStoreFactory = Opener{}

// NewFactory implements client.AbstractDataStoreFactory.
func (o Opener) NewFactory(
	_ config.CustomDatastoreConfig, r resolver.ServiceResolver, cluster string, logger log.Logger, handler metrics.Handler,
	s serialization.Serializer,
) persistence.DataStoreFactory {
	return &factory{Factory: sql.NewFactory(o.Database, r, cluster, logger, handler, s), logger: logger, serializer: s}
}

// factory is the server's own, but for the stores of workflows and of task queues.
type factory struct {
	*sql.Factory
	logger     log.Logger
	serializer serialization.Serializer
}

// NewExecutionStore implements persistence.DataStoreFactory.
func (f *factory) NewExecutionStore() (persistence.ExecutionStore, error) {
	db, err := f.GetDB()
	if err != nil {
		return nil, err
	}
	inner, err := sql.NewSQLExecutionStore(Joining(db), f.logger, f.serializer)
	if err != nil {
		return nil, err
	}
	return NewExecutions(inner, f.serializer), nil
}

// NewTaskStore implements persistence.DataStoreFactory.
func (f *factory) NewTaskStore() (persistence.TaskStore, error) {
	inner, err := f.Factory.NewTaskStore()
	return NewTaskQueues(inner), err
}

// NewFairTaskStore implements persistence.DataStoreFactory.
func (f *factory) NewFairTaskStore() (persistence.TaskStore, error) {
	inner, err := f.Factory.NewFairTaskStore()
	return NewTaskQueues(inner), err
}
