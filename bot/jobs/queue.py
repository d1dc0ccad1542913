"""Durable jobs. The only module that knows the queue's library, DBOS Transact.

A job is stored before GitHub's delivery is answered, runs at least once, and goes on after a crash from the last
step that ended. Jobs with one partition, in practice one pull request, run one after the other.

The queue takes at random from whatever is not running, so that an organisation with 500 waiting pull requests would
have nearly all turns. Therefore its key is a lane: each installation has a few, whatever it sends, and the pull
requests of one lane run one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import logging
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from dbos import (
    DBOS,
    DBOSClient,
    DBOSConfig,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    SetEnqueueOptions,
    SetWorkflowID,
    error,
)
from dbos._context import current_owner_xid
from dbos._dbos import _get_dbos_instance
from pydantic import BaseModel, ValidationError

from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.fencing import TakenOver, fenced
from bot.jobs.intake import Intake
from bot.jobs.intents import INTENT, Intent, ReviewIntent
from bot.jobs.mover import Mover
from bot.jobs.ownership import Ownership
from bot.jobs.steps import Handler, PutOff, Result, StepFailed
from bot.storage.database import Heartbeats, create_urgent_engine
from bot.storage.inbox import Inbox, Letter

logger = logging.getLogger(__name__)

APPLICATION = "preflight"
APPLICATION_VERSION = "1"
"""Constant: a worker takes only jobs of its own version, and by default that is a hash of the sources, so that a new
release would strand the jobs of the one before. What differs between releases is met where it shows: see `_handle`."""
QUEUE = "review"
WORKFLOW = "handle-intent"
TRIES = 8
"""Attempts of one step against an unavailable GitHub, about four minutes in all, before the job gives up."""
LIMIT_ROUNDS = 30
"""Waits for a rate limit before the job gives up."""
DRAIN_SECONDS = 20
LEAVE_SECONDS = 5.0
"""Time that a process has to end after its queue has; only then do others take over what it leaves."""
LANES = 6
"""Jobs of one installation at the same time, over all workers. GitHub wants its writes a second apart, and a review
takes four or so: more lanes would hardly be faster."""
LONGEST_NAP_SECONDS = 60.0
"""A job that has to wait for longer leaves its worker to others."""
MOST_AGAIN = 20
AGAIN_SECONDS = 30.0
"""How long a job that only a newer release understands waits for a worker of that release."""
BEAT_SECONDS = 20.0
HOUR_SECONDS = 3600.0
DELETED_AT_ONCE = 200
LOOKED_AT = 1000
"""Jobs read to find the one that has waited longest; oldest come first."""


class RecordedOtherwise(Exception):
    """What a job recorded was made by a release whose steps are not ours."""


class DurableSteps:
    """Steps kept by the queue's database, waits included. What they write passes the fence of their job."""

    def __init__(self) -> None:
        job_id = DBOS.workflow_id or ""
        self._ownership = Ownership(job_id, current_owner_xid(job_id), _owner_of)

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        """See `Steps.run`."""
        tries = rounds = 0
        while True:
            try:
                with fenced(self._ownership.check):
                    answer = await DBOS.run_step_async({"name": name}, _attempt, name, work)
            except error.DBOSWorkflowConflictIDError as conflict:
                # Where the fence did not notice it, the record of the step does.
                raise TakenOver(DBOS.workflow_id or "") from conflict
            if "result" in answer:
                try:
                    return model.model_validate(answer["result"])
                except ValidationError as reason:
                    raise RecordedOtherwise(name) from reason
            if "gone" in answer:
                raise InstallationGone(answer["gone"])
            if "until" in answer and rounds < LIMIT_ROUNDS:
                rounds += 1
                if answer["until"] - time.time() > LONGEST_NAP_SECONDS:
                    raise PutOff(answer["until"])
                await DBOS.sleep_async(max(1.0, answer["until"] - time.time()))
            elif "unavailable" in answer and tries < TRIES:
                tries += 1
                await DBOS.sleep_async(min(60.0, 2.0**tries))
            else:
                raise StepFailed(name, str(answer.get("unavailable") or answer.get("failure") or answer))


async def _attempt(name: str, work: Callable[[], Awaitable[BaseModel]]) -> dict[str, Any]:
    """Run a step once. Failures are data: the queue stores JSON and never a pickled exception."""
    try:
        return {"result": (await work()).model_dump(mode="json")}
    except TakenOver:
        raise
    except InstallationGone as error:
        return {"gone": error.installation_id}
    except LimitedUntil as error:
        logger.warning("%s: %s", name, error)
        return {"until": error.epoch_seconds, "unavailable": str(error)}
    except Unavailable as error:
        logger.warning("%s: %s", name, error)
        return {"unavailable": str(error)}
    except Exception as error:
        logger.exception("%s failed", name)
        return {"failure": f"{type(error).__name__}: {error}"}


def _owner_of(job_id: str) -> str | None:
    """Return the token of the execution that a job belongs to, None where it waits for one.

    The library hands it to no one, and checks it itself at every record that it writes.

    Raises:
        Unavailable: where the database does not answer.
    """
    try:
        return _get_dbos_instance()._sys_db.get_workflow_owner(job_id)
    except sa.exc.SQLAlchemyError as problem:
        raise Unavailable(f"the database does not say whose job {job_id} is") from problem


_handlers: list[Handler] = []
"""The handler of this process; the library's functions are process-wide, and so must this be."""


@DBOS.workflow(name=WORKFLOW)
async def _handle(intent: dict[str, Any]) -> str:
    """Carry out a job, also one that another release began or stored.

    Where the steps that it recorded are not ours, it begins again from the first: every job reads the present state
    from GitHub, so that this costs time and says nothing twice. One that only a newer release understands is put
    off until a worker of that release takes it: while an upgrade is under way, both are there.
    """
    job_id = DBOS.workflow_id or ""
    try:
        known = INTENT.validate_python(intent)
    except ValidationError as reason:
        logger.warning("job %s is of a kind that this release does not know; it is left to a newer one", job_id)
        return await _apart(_again(job_id, intent, AGAIN_SECONDS, reason))
    try:
        if isinstance(known, ReviewIntent) and not known.force and known.begun is None:
            # Recorded, so that a job that was begun is also ended.
            overtaken = await DBOS.run_step_async({"name": "look-behind"}, _is_followed, known.partition)
            if overtaken:
                return "left to a later job"
        return await _handlers[-1].handle(job_id, known, DurableSteps())
    except TakenOver as reason:
        logger.warning("%s", reason)
        # The library's own word for it: this execution leaves no record.
        raise error.DBOSWorkflowConflictIDError(job_id) from reason
    except PutOff as reason:
        logger.warning("job %s is %s", job_id, reason)
        again = intent if reason.instead is None else reason.instead.model_dump(mode="json")
        return await _apart(_again(job_id, again, reason.epoch_seconds - time.time(), reason))
    except (error.DBOSUnexpectedStepError, RecordedOtherwise) as reason:
        logger.warning("job %s was begun by another release: it begins again", job_id)
        return await _apart(_again(job_id, intent, 0.0, reason))


async def _is_followed(partition: str) -> bool:
    """Tell whether a further review of the same pull request waits: it will read whatever this one would.

    Of a burst of pushes only the last is worth GitHub's and our time.
    """
    waiting = await DBOS.list_workflows_async(
        status=["ENQUEUED", "DELAYED"],
        queue_name=QUEUE,
        user=partition,
        limit=1,
        load_input=False,
        load_output=False,
    )
    return bool(waiting)


async def _again(job_id: str, intent: dict[str, Any], delay_seconds: float, reason: Exception) -> str:
    """Store a job once more, under an id that says how often that was done."""
    first, _, count = job_id.partition("~")
    round_ = int(count or 0) + 1
    status = await DBOS.get_workflow_status_async(job_id)
    if round_ > MOST_AGAIN or status is None:
        raise reason
    with (
        SetWorkflowID(f"{first}~{round_}"),
        SetEnqueueOptions(
            queue_partition_key=status.queue_partition_key, delay_seconds=delay_seconds if delay_seconds > 0 else None
        ),
    ):
        await DBOS.enqueue_workflow_async(QUEUE, _handle, intent)
    return f"begins again as {first}~{round_}"


def _lane(intent: Intent, lanes: int) -> str:
    """Return the lane of a job: of its installation, and one and the same for all jobs of a partition."""
    number = zlib.crc32(intent.partition.encode()) % lanes
    return f"{intent.repository.installation_id}/{'quick' if intent.QUICK else 'reviews'}/{number}"


async def _apart(work: Coroutine[Any, Any, str]) -> str:
    """Run something that is no part of the job's own record, in which each call has its number."""
    return await asyncio.create_task(work, context=contextvars.Context())


class Jobs:
    """The queue of this process."""

    def __init__(
        self,
        engine: sa.Engine,
        *,
        executor_id: str,
        handler: Handler | None,
        worker_concurrency: int = 4,
        retention: timedelta = timedelta(days=7),
        silent_worker_seconds: float = 90.0,
        lanes: int = LANES,
    ) -> None:
        """Without a handler this process only accepts jobs, and leaves them to workers."""
        self._engine = engine
        self._executor_id = executor_id
        self._handler = handler
        self._worker_concurrency = worker_concurrency
        self._retention = retention
        self._silent_worker_seconds = silent_worker_seconds
        self._lanes = lanes
        self._heartbeats = Heartbeats(engine)
        self._urgent = create_urgent_engine(engine)
        self._inbox = Inbox(engine)
        self._intake = Intake(self._urgent, self._inbox.put)
        self._mover = Mover(engine, self._inbox, self._store, self._intake.calm)
        self._client: DBOSClient | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.ready = False

    async def start(self) -> None:
        """Connect, resume what this worker left unfinished, and begin to work. Call it inside the running loop."""
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_engine": self._engine,
            "system_database_url": self._engine.url.render_as_string(hide_password=False),
            "application_version": APPLICATION_VERSION,
            # A process that only accepts must not take over a worker's jobs.
            "executor_id": self._executor_id if self._handler else f"{self._executor_id}-web",
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "WARNING",
            # Steps are seconds long: polling suffices, and works through connection poolers.
            "use_listen_notify": False,
        }
        DBOS(config=config)
        if self._handler:
            _handlers.append(self._handler)
            # Before the queue starts: a live worker must not be taken for a lost one.
            await asyncio.to_thread(self._heartbeats.beat, self._executor_id, time.time())
        else:
            DBOS.listen_queues([])
        DBOS.launch()
        await DBOS.register_queue_async(
            QUEUE,
            worker_concurrency=self._worker_concurrency,
            partition_concurrency=1,
            polling_interval_sec=0.25,
            on_conflict="always_update",
        )
        self._client = DBOSClient(
            system_database_engine=self._engine,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            lazy=True,
        )
        self._mover.start()
        self._keeper = asyncio.create_task(self._keep_house())
        self.ready = True

    async def accept(self, job_id: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        """Store a job. An id that is known already changes nothing."""
        if self._client is None:
            raise RuntimeError("the queue is not started")
        letter = Letter(
            job_id,
            intent.model_dump_json(),
            lane=_lane(intent, self._lanes),
            subject=intent.partition if isinstance(intent, ReviewIntent) else "",
            due=time.time() + delay_seconds,
        )
        await self._intake.put(letter)
        self._mover.ring()

    def _store(self, connection: sa.Connection, letter: Letter) -> None:
        if self._client is None:
            raise RuntimeError("the queue is not started")
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": letter.job_id,
            "app_version": APPLICATION_VERSION,
            "queue_partition_key": letter.lane,
        }
        if letter.subject:
            # A field of the library's that can be asked for: see `_is_followed`.
            options["authenticated_user"] = letter.subject
        delay = letter.due - time.time()
        if delay > 0:
            options["delay_seconds"] = delay
        self._client.enqueue_in_transaction(connection, options, json.loads(letter.intent))

    async def knows(self, job_id: str) -> bool:
        """Tell whether a job of this id was ever stored."""
        # In this order: it may be moved meanwhile.
        if await asyncio.to_thread(self._inbox.holds, job_id):
            return True
        return await DBOS.get_workflow_status_async(job_id) is not None

    async def waiting(self) -> int:
        """Return how many jobs are stored and not finished."""
        accepted = await asyncio.to_thread(self._inbox.count)
        queued = await DBOS.list_workflows_async(
            status=["PENDING", "ENQUEUED", "DELAYED"], load_input=False, load_output=False
        )
        return accepted + len(queued)

    async def age_seconds(self) -> float:
        """Return how long the oldest job that a free worker would take has waited, in seconds; 0 where none waits.

        A job behind another one of its lane waits for that one, and not for a worker.
        """
        running, waiting = [
            await DBOS.list_workflows_async(
                status=status, queue_name=QUEUE, limit=LOOKED_AT, load_input=False, load_output=False
            )
            for status in ("PENDING", "ENQUEUED")
        ]
        busy = {job.queue_partition_key for job in running}
        moments = [
            # A job that was put off waits only from then on.
            max(job.created_at or 0, job.delay_until_epoch_ms or 0)
            for job in waiting
            if job.queue_partition_key not in busy
        ]
        return max(0.0, time.time() - min(moments) / 1000) if moments else 0.0

    async def healthy(self) -> bool:
        """Tell whether jobs can be stored at the moment."""
        if not self.ready:
            return False
        try:
            await asyncio.to_thread(self._probe)
        except sa.exc.SQLAlchemyError:
            logger.exception("the database does not answer")
            return False
        return True

    def _probe(self) -> None:
        with self._engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))

    async def stop(self) -> None:
        """Let running jobs end for a while; what does not end is resumed at the next start, or taken over."""
        self.ready = False
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._intake.calm(LEAVE_SECONDS)
        await self._mover.stop()
        drain = DRAIN_SECONDS if self._handler and await self._busy() else 0
        if self._handler:
            # The others need not wait for our silence: a worker that is removed for good leaves its jobs in order.
            seen = time.time() - self._silent_worker_seconds + drain + LEAVE_SECONDS
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                await asyncio.to_thread(self._heartbeats.beat, self._executor_id, seen)
        await asyncio.to_thread(DBOS.destroy, workflow_completion_timeout_sec=drain)
        # What the last jobs ordered is moved at the next start, or by another process.
        await self._intake.close()
        if self._urgent is not self._engine:
            self._urgent.dispose()
        if self._client is not None:
            self._client.destroy()
        if self._handler in _handlers:
            _handlers.remove(self._handler)

    async def _busy(self) -> bool:
        running = await DBOS.list_workflows_async(
            status="PENDING", executor_id=self._executor_id, limit=1, load_input=False, load_output=False
        )
        return bool(running)

    async def _keep_house(self) -> None:
        """Beat, take over from lost workers, and once an hour delete what is old."""
        deleted_at = 0.0
        while True:
            try:
                # What another process accepted, and was not left the time to move.
                self._mover.ring()
                if self._handler:
                    await asyncio.to_thread(self._heartbeats.beat, self._executor_id, time.time())
                    await self._take_over()
                if time.time() - deleted_at > HOUR_SECONDS:
                    deleted_at = time.time()
                    await self._delete_old()
            except Exception:
                # The next round tries again; a database that is away must not end the process.
                logger.exception("housekeeping failed")
            await asyncio.sleep(BEAT_SECONDS)

    async def _take_over(self) -> None:
        lost = await asyncio.to_thread(self._heartbeats.silent, time.time(), self._silent_worker_seconds)
        for executor in lost:
            # One of us: a job that another has resumed already may run again by now, and must not be taken away.
            if not await asyncio.to_thread(self._heartbeats.claim, executor, time.time(), self._silent_worker_seconds):
                continue
            stranded = await DBOS.list_workflows_async(
                status="PENDING", executor_id=executor, load_input=False, load_output=False
            )
            ids = [status.workflow_id for status in stranded]
            if ids:
                logger.warning("worker %s is silent: taking over %d jobs", executor, len(ids))
                # With the queue's name: otherwise two jobs could run on one pull request.
                await DBOS.resume_workflows_async(ids, queue_name=QUEUE)
            await asyncio.to_thread(self._heartbeats.remove, executor)

    async def _delete_old(self) -> None:
        before = (datetime.now(UTC) - self._retention).isoformat()
        while True:
            old = await DBOS.list_workflows_async(
                status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
                completed_before=before,
                limit=DELETED_AT_ONCE,
                load_input=False,
                load_output=False,
            )
            if not old:
                return
            await DBOS.delete_workflows_async([status.workflow_id for status in old])
