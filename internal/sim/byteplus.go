package sim

import (
	"net/http"
	"strings"
)

func arkError(status int, code, message string) reply {
	return fail(status, map[string]any{"error": map[string]any{"code": code, "message": message, "param": "", "type": "BadRequest"}})
}

var arkRefusals = refusals{
	faultPolicy:  arkError(http.StatusBadRequest, "InputTextSensitiveContentDetected", "The request failed because the input text may contain sensitive information."),
	faultInvalid: arkError(http.StatusBadRequest, "InvalidParameter", "The parameter `content` specified in the request is not valid."),
	faultBusy:    arkError(http.StatusTooManyRequests, "ModelAccountRpmRateLimitExceeded", "The rate limit of the account acct-simulated1 is exceeded."),
	faultUnpaid:  arkError(http.StatusForbidden, "AccountOverdueError", "The account is overdue."),
	faultError:   arkError(http.StatusInternalServerError, "InternalServiceError", "The service encountered an unexpected internal error."),
	faultDown:    arkError(http.StatusServiceUnavailable, "ServerOverloaded", "The service is overloaded."),
}

func (s *Server) byteplusRoutes() {
	s.handle("POST /byteplus/api/v3/contents/generations/tasks", bearer, arkRefusals.or(arkSubmit))
	s.handle("GET /byteplus/api/v3/contents/generations/tasks/{id}", bearer, refusals{faultDown: arkRefusals[faultDown]}.or(arkTask))
	s.handle("DELETE /byteplus/api/v3/contents/generations/tasks/{id}", bearer, func(e *exchange) reply {
		if !e.cancel() {
			return arkError(http.StatusConflict, "InvalidAction.RunningTaskDeletion", "The task can not be cancelled any more.")
		}
		return ok(map[string]any{})
	})
}

func arkSubmit(e *exchange) reply {
	extra := e.text("model")
	if e.body["return_last_frame"] == true {
		extra += " last"
	}
	t := e.submit(extra)
	e.callback(e.text("callback_url"), t, arkTask, nil)
	return reply{status: http.StatusOK, json: map[string]any{"id": t.id()}, charged: true}
}

func arkTask(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return arkError(http.StatusNotFound, "ResourceNotFound", "The specified task is not found.")
	}
	model, last, _ := strings.Cut(t.Extra, " ")
	task := map[string]any{"id": t.id(), "model": model, "status": "running", "service_tier": "default", "created_at": t.Ready/1000 - 1, "updated_at": e.now.Unix()}
	switch {
	case e.canceled(t):
		task["status"] = "cancelled"
		return ok(task)
	case !t.finished(e.now):
		return ok(task)
	case t.Fault == faultPolicy:
		task["status"], task["error"] = "failed", map[string]any{"code": "OutputVideoSensitiveContentDetected", "message": "The output video may contain sensitive information."}
		return ok(task)
	case t.Fault != "":
		task["status"], task["error"] = "failed", map[string]any{"code": "InternalServiceError", "message": "The generation failed."}
		return ok(task)
	}
	content := map[string]any{"video_url": e.file(t.Seed, "mp4")}
	if last != "" {
		content["last_frame_url"] = e.file(t.Seed, "png")
	}
	task["status"], task["content"] = "succeeded", content
	task["usage"] = map[string]any{"completion_tokens": 246840, "total_tokens": 246840}
	task["resolution"], task["ratio"], task["duration"], task["framespersecond"], task["seed"] = "1080p", "16:9", 5, 24, 42
	return ok(task)
}
