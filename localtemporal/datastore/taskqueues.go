package datastore

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/persistence"
)

// trustFor is how long a task queue that nobody writes is believed to be what it was. The server reads each one every few
// seconds, to learn whether another server has taken it; a write by that other would be refused at once.
const trustFor = 5 * time.Minute

// taskQueues is the server's store of task queues, which reads a queue again only after this process wrote to it.
type taskQueues struct {
	persistence.TaskStore

	mutex sync.Mutex // guards known
	known map[queue]knownQueue
}

type queue struct {
	namespace, name string
	kind            enums.TaskQueueType
}

// knownQueue is a queue as it was read at a time. While it is written, or after a write of which the outcome is not known,
// there is none.
type knownQueue struct {
	*persistence.InternalGetTaskQueueResponse
	at time.Time
}

// NewTaskQueues returns a store over inner.
func NewTaskQueues(inner persistence.TaskStore) persistence.TaskStore {
	return &taskQueues{TaskStore: inner, known: map[queue]knownQueue{}}
}

// GetTaskQueue implements persistence.TaskStore.
func (s *taskQueues) GetTaskQueue(ctx context.Context,
	request *persistence.InternalGetTaskQueueRequest,
) (*persistence.InternalGetTaskQueueResponse, error) {
	q := queue{request.NamespaceID, request.TaskQueue, request.TaskType}
	s.mutex.Lock()
	k, found := s.known[q]
	s.mutex.Unlock()
	if found && k.InternalGetTaskQueueResponse != nil && time.Since(k.at) < trustFor {
		return k.InternalGetTaskQueueResponse, nil
	}
	reading := knownQueue{at: time.Now()}
	s.set(q, reading)
	response, err := s.TaskStore.GetTaskQueue(ctx, request)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.known[q] == reading { // nobody has written it meanwhile
		s.known[q] = knownQueue{response, reading.at}
	}
	return response, nil
}

func (s *taskQueues) set(q queue, k knownQueue) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known[q] = k
}

// writing forgets a queue before and after a write.
func (s *taskQueues) writing(q queue) (written func()) {
	forget := func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.known, q)
	}
	forget()
	return forget
}

// CreateTaskQueue implements persistence.TaskStore.
func (s *taskQueues) CreateTaskQueue(ctx context.Context, request *persistence.InternalCreateTaskQueueRequest) error {
	defer s.writing(queue{request.NamespaceID, request.TaskQueue, request.TaskType})()
	return s.TaskStore.CreateTaskQueue(ctx, request)
}

// UpdateTaskQueue implements persistence.TaskStore.
func (s *taskQueues) UpdateTaskQueue(ctx context.Context,
	request *persistence.InternalUpdateTaskQueueRequest,
) (*persistence.UpdateTaskQueueResponse, error) {
	defer s.writing(queue{request.NamespaceID, request.TaskQueue, request.TaskType})()
	return s.TaskStore.UpdateTaskQueue(ctx, request)
}

// CreateTasks implements persistence.TaskStore.
func (s *taskQueues) CreateTasks(ctx context.Context,
	request *persistence.InternalCreateTasksRequest,
) (*persistence.CreateTasksResponse, error) {
	defer s.writing(queue{request.NamespaceID, request.TaskQueue, request.TaskType})()
	return s.TaskStore.CreateTasks(ctx, request)
}

// DeleteTaskQueue implements persistence.TaskStore.
func (s *taskQueues) DeleteTaskQueue(ctx context.Context, request *persistence.DeleteTaskQueueRequest) error {
	key := request.TaskQueue
	defer s.writing(queue{key.NamespaceID, key.TaskQueueName, key.TaskQueueType})()
	return s.TaskStore.DeleteTaskQueue(ctx, request)
}
